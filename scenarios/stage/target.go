package stage

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/history"
)

// Target returns the target of faults. holder returns the holder, or nil.
func (st *Stage) Target(holder func(stay bool) int) chaos.Target {
	t := st.Members.target(st.Clients, holder)
	if st.IsBarrier() {
		t.Losses = len(st.Clients)
	}
	if st.Driven {
		t.Process = st.process
	}
	if st.Driven && !st.IsQueue() { // for other clients the tap does not record nodes
		t.Next = st.nextInLine
	}
	return t
}

// nextInLine returns the client with the oldest node behind the holder's, or -1.
func (st *Stage) nextInLine() int {
	holder, next, oldest := st.Holder.holding(), -1, int64(0)
	for _, c := range st.Clients {
		n, _ := c.Wire.Node(st.Parent)
		if n.Czxid > 0 && c.Number != holder && (next < 0 || n.Czxid < oldest) {
			next, oldest = c.Number, n.Czxid
		}
	}
	return next
}

// driver returns the client's driver; nil if it has none or is not open.
func (c *Client) driver() *host.Client {
	subject := c.Subject.Load()
	if subject == nil {
		return nil
	}
	d, _ := (*subject).(*host.Client)
	return d
}

func (st *Stage) process(n int) (chaos.Process, error) {
	d := st.Clients[n].driver()
	if d == nil {
		return nil, fmt.Errorf("client %d is not running in any driver process", n)
	}
	p := &clientProcess{Process: d.Process(), st: st}
	for _, c := range slices.Concat(st.Clients, st.Producers) {
		if o := c.driver(); o != nil && o.Process() == p.Process {
			p.clients = append(p.clients, c)
		}
	}
	return p, nil
}

type clientProcess struct {
	*host.Process
	st      *Stage
	clients []*Client
}

func (p *clientProcess) Clients() []int {
	var out []int
	for _, c := range p.clients {
		out = append(out, c.Number)
	}
	return out
}

func (p *clientProcess) Group() (all, stopped []int) {
	if elsewhere, ok := p.Running().(interface{ Group() (all, stopped []int) }); ok {
		return elsewhere.Group()
	}
	return chaos.GroupHere(p.PID())
}

// Replace implements chaos.Process.
func (p *clientProcess) Replace(as string) error {
	if as != "" {
		next, ok := p.st.Successors[as]
		if !ok {
			return fmt.Errorf("subject %s was not started with the trial", as)
		}
		for _, c := range p.clients {
			c.successor.Store(&next)
		}
	}
	p.Process.Replace()
	return nil
}

// Kill implements chaos.Process. It records that the clients were killed: their beliefs end.
func (p *clientProcess) Kill() error {
	now := p.st.Clock.Now()
	for _, c := range p.clients {
		p.st.Record.Record(&history.Session{At: now, Event: history.Killed, Client: c.Number, Session: c.Wire.Session().ID})
	}
	p.st.Holder.free() // the holder has ended
	return p.Process.Kill()
}
