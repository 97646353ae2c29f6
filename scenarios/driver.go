package scenarios

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/report/history"
)

// Failures of the processes of drivers.

// target returns the target of faults. holder returns the holder, or nil.
func (st *stage) target(holder func(stay bool) int) chaos.Target {
	t := st.members.target(st.clients, holder)
	if st.barrier() {
		t.Losses = len(st.clients)
	}
	if st.driven {
		t.Process = st.process
	}
	if st.driven && !st.queue() { // of other clients the tap does not record nodes
		t.Next = st.nextInLine
	}
	return t
}

// nextInLine returns the client with the oldest node behind the holder's, or -1.
func (st *stage) nextInLine() int {
	holder, next, oldest := st.holder.holding(), -1, int64(0)
	for _, c := range st.clients {
		n, _ := c.wire.Node(st.parent)
		if n.Czxid > 0 && c.n != holder && (next < 0 || n.Czxid < oldest) {
			next, oldest = c.n, n.Czxid
		}
	}
	return next
}

// driver returns the client's driver; nil if it has none or is not open.
func (c *client) driver() *host.Client {
	subject := c.subject.Load()
	if subject == nil {
		return nil
	}
	d, _ := (*subject).(*host.Client)
	return d
}

func (st *stage) process(n int) (chaos.Process, error) {
	d := st.clients[n].driver()
	if d == nil {
		return nil, fmt.Errorf("client %d is not open in any process", n)
	}
	p := &clientProcess{Process: d.Process(), st: st}
	for _, c := range slices.Concat(st.clients, st.producers) {
		if o := c.driver(); o != nil && o.Process() == p.Process {
			p.clients = append(p.clients, c)
		}
	}
	return p, nil
}

type clientProcess struct {
	*host.Process
	st      *stage
	clients []*client
}

func (p *clientProcess) Clients() []int {
	var out []int
	for _, c := range p.clients {
		out = append(out, c.n)
	}
	return out
}

func (p *clientProcess) Group() (all, stopped []int) {
	if elsewhere, ok := p.Running().(interface{ Group() (all, stopped []int) }); ok {
		return elsewhere.Group()
	}
	return chaos.GroupHere(p.PID())
}

// Kill implements chaos.Process. It records that the clients were killed: their beliefs end.
func (p *clientProcess) Kill() error {
	now := p.st.clock.Now()
	for _, c := range p.clients {
		p.st.record.Record(&history.Session{At: now, Event: history.Killed, Client: c.n, Session: c.wire.Session().ID})
	}
	p.st.holder.free() // the holder has ended
	return p.Process.Kill()
}

// driven returns a subject that is compiled in as one of a driver; its properties stay. Agents run
// it in their own process, unless it is to run apart.
func (r *runner) driven(s recipes.Subject, apart bool) (recipes.Subject, error) {
	if apart {
		return r.apart(s)
	}
	s.Start = host.Subject(host.Command{Name: s.Name, Args: []string{site.Agent, s.Name}}).Start
	return s, nil
}

func (r *runner) apart(s recipes.Subject) (recipes.Subject, error) {
	if len(r.driver) == 0 {
		return s, fmt.Errorf("%s is to run apart, in processes of its own: Config.Driver must give a command that starts them, like zkbench driver", s.Name)
	}
	args := append(slices.Clone(r.driver), s.Name)
	if r.fleet != nil {
		args[0] = site.Self
	}
	command := host.Command{Name: s.Name, Args: args}
	s.Start = host.Subject(command).Start
	return s, nil
}

// Commands returns the commands of an external ensemble's members that the run may execute, one
// line each. The target of a fault is chosen during the run, so every member has a line.
func (c Config) Commands() (lines []string) {
	for i := range c.Scenario.Phases {
		p := &c.Scenario.Phases[i]
		faults := p.MemberFaults()
		slices.Sort(faults)
		for _, fault := range slices.Compact(faults) {
			kind, err := chaos.KindOf(fault)
			if err != nil {
				continue // reported by Validate
			}
			lines = append(lines, c.commands(fmt.Sprintf("phase %s, %s", p.Name, fault), kind.Words())...)
		}
	}
	return append(lines, c.commands("after each trial", []string{"log"})...)
}

// commands returns those commands for all members that the words name.
func (c Config) commands(when string, words []string) (lines []string) {
	for i, member := range c.Ensemble.Terms.Commands {
		for _, word := range words {
			args := member.ByWord()[word]
			if args == nil && word == "kill" {
				args = member.Stop
			}
			if args != nil {
				lines = append(lines, fmt.Sprintf("%s: %s %s: %s", when, cmp.Or(member.Name, fmt.Sprintf("zk%d", i+1)), word, external.Line(args)))
			}
		}
	}
	return lines
}
