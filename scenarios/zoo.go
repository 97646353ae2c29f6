package scenarios

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/agents"
)

// Specimen is a subject, a script, and the guarantees that the subject is known to break in it.
type Specimen struct {
	Subject string `yaml:"subject"` // the subject
	// Provocation is a cell of an audit, such as "next exists #1/reply.drop" or "all/crowd".
	// "every" runs all cells that show a fault in another specimen of the same recipe, and all
	// scripts that concern a whole line.
	Provocation string `yaml:"provocation"`
	// Caught are the guarantees that must be broken. Without any the subject is sound, and must
	// pass all.
	Caught []string `yaml:"caught,omitempty,flow"`
	Except []string `yaml:"except,omitempty,flow"` // cells omitted from "every"
}

// every selects all scripts.
const every = "every"

// zoo returns the cells of a zoo; if the scenario has Subjects, only the cells of these.
func (s *Scenario) zoo() ([]cell, error) {
	var cells []cell
	for _, x := range s.Specimens {
		if len(s.Subjects) > 0 && !slices.Contains(s.Subjects, x.Subject) {
			continue
		}
		subject, err := s.find(x.Subject)
		if err != nil {
			return nil, err
		}
		for _, name := range s.provocationsOf(x, subject) {
			c, err := s.auditCell(subject, name)
			if err != nil {
				return nil, err
			}
			c.Caught, c.Step, c.Fault = x.Caught, "", "" // not a parameter of a matrix
			cells = append(cells, interleave([]cell{c}, s.Trials)...)
		}
	}
	return cells, nil
}

func (s *Scenario) provocationsOf(x Specimen, subject recipes.Subject) (names []string) {
	if x.Provocation != every {
		return []string{x.Provocation}
	}
	for _, name := range s.everyProvocation(subject) {
		named := slices.ContainsFunc(s.Specimens, func(y Specimen) bool { return y.Subject == x.Subject && y.Provocation == name })
		if !named && !slices.Contains(x.Except, name) {
			names = append(names, name)
		}
	}
	return names
}

// everyProvocation returns the names of all cells that apply to the subject.
func (s *Scenario) everyProvocation(subject recipes.Subject) (names []string) {
	for _, name := range wholeLine(subject) {
		names = append(names, allSteps+"/"+name)
	}
	for _, x := range s.Specimens {
		if _, err := s.auditCell(subject, x.Provocation); err == nil && len(x.Caught) > 0 && !slices.Contains(names, x.Provocation) {
			names = append(names, x.Provocation)
		}
	}
	return names
}

func (s *Scenario) validateZoo(bad problemFunc) {
	if len(s.Clients) > 0 {
		bad("clients", "a provocation knows how many clients it takes; leave clients out of a zoo")
	}
	for i, x := range s.Specimens {
		at := bad.in(fmt.Sprintf("specimens.%d", i))
		s.validateSpecimen(x, at)
		if slices.ContainsFunc(s.Specimens[:i], func(y Specimen) bool { return y.Subject == x.Subject && y.Provocation == x.Provocation }) {
			at("provocation", "%s meets %s twice: name it once, with all guarantees that detect it", x.Subject, x.Provocation)
		}
	}
	for _, name := range s.Subjects {
		if !slices.ContainsFunc(s.Specimens, func(x Specimen) bool { return x.Subject == name }) {
			bad("subjects", "%s is not among the specimens", name)
		}
	}
	for i, p := range s.Phases {
		at := fmt.Sprintf("phases.%d", i)
		if p.Kind != episodeKind {
			bad(at+".kind", "a zoo has one phase, an %s", episodeKind)
		}
		if len(p.Cells) > 0 || p.Depth > 0 {
			bad(at, "a zoo runs its specimens: remove cells, depth and duration")
		}
	}
}

func (s *Scenario) validateSpecimen(x Specimen, bad problemFunc) {
	subject, err := s.find(x.Subject)
	if err != nil {
		bad("subject", "%v%s", err, units.Nearest(x.Subject, subjectNames()))
		return
	}
	if x.Provocation != every {
		if len(x.Except) > 0 {
			bad("except", "goes with provocation: %s", every)
		}
		c, err := s.auditCell(subject, x.Provocation)
		switch {
		case err != nil:
			bad("provocation", "%v; applicable: %q", err, every)
		case c.alone():
			bad("provocation", "%s affects a member, which other trials use at the same time: audit runs it", x.Provocation)
		}
		return
	}
	all := s.everyProvocation(subject)
	for _, name := range x.Except {
		if !slices.Contains(all, name) {
			bad("except", "%q is not an episode script that could be omitted%s", name, units.Nearest(name, all))
		}
	}
}

// Caught returns the broken recipes of the built-in zoo, each with its cell and the guarantees that
// it breaks.
func Caught() (out [][2]string) {
	name, text, err := Source("zoo")
	if err != nil {
		return nil
	}
	s, err := Load(name, text)
	if err != nil {
		return nil // a test loads it
	}
	for _, x := range s.Specimens {
		if len(x.Caught) > 0 {
			out = append(out, [2]string{x.Subject, fmt.Sprintf("%s: %s", x.Provocation, strings.Join(x.Caught, ", "))})
		}
	}
	return out
}

// listenElsewhere prepares the trial's taps on the agents.
func (t *trial) listenElsewhere() (stop func(), err error) {
	st, r := t.stage, t.runner
	begun, err := r.fleet.Begin(agents.Options{
		Trial: t.name, Parent: st.parent, At: func(at time.Time) time.Duration { return st.clock.At(at) },
		Way: wayTo(st.members.ensemble), Relay: relayed(r.relay, st.members.ensemble), Dial: st.members.ensemble.Security.Dial,
		Event: st.recordSession, Lost: st.lostAgent,
	})
	if err != nil {
		st.tap = wire.New(st.clock.Now) // has no clients
		return func() {}, err
	}
	st.tap = begun
	return begun.Close, nil
}

// relayed reports whether agents reach the members through this process: on request, and where
// connections need certificates, which stay here.
func relayed(asked bool, e *ensembles.Ensemble) bool { return asked || e.Security.TLS != nil }

// site returns where a client runs; nil for this machine.
func (t *trial) site() func(client int) (site.Site, error) {
	begun, elsewhere := t.stage.tap.(*agents.Trial)
	if !elsewhere {
		return nil
	}
	return begun.Site
}

// clockError returns the largest possible error of an agent's clock; 0 without agents.
func (st *stage) clockError() time.Duration {
	if begun, elsewhere := st.tap.(*agents.Trial); elsewhere {
		return begun.ClockError()
	}
	return 0
}

// lostAgent records that the clients of a lost agent are unknown since the last message from it:
// their beliefs end there.
func (st *stage) lostAgent(agent string, clients []int, since time.Duration) {
	for _, n := range clients {
		st.record.Record(&history.Session{At: since, Event: history.Killed, Client: n, Session: st.tap.Client(n).Session().ID})
	}
	st.holder.free()
	now := st.clock.Now()
	st.record.Record(&history.Window{Fault: "agent.lost", Target: fmt.Sprintf("agent %s, with %s", agent, units.Plural(len(clients), "client")), Client: -1,
		Start: since, End: now, Proof: fmt.Sprintf("its link ended or was silent; the last message arrived %v before", (now - since).Round(time.Millisecond))})
}

// errEpisodes is returned for scenarios that cannot run on agents.
var errEpisodes = errors.New("an audit and the zoo inject faults at single steps of local clients, which agents do not support; run without --agents, or run churn")

// refuseAgents returns why the scenario cannot run on agents.
func (s *Scenario) refuseAgents() error {
	if s.audit() != nil || len(s.Specimens) > 0 {
		return fmt.Errorf("%s: %w", s.Name, errEpisodes)
	}
	for i, p := range s.Phases {
		if p.Kind == episodeKind {
			return fmt.Errorf("%s: phases.%d: %w", s.Name, i, errEpisodes)
		}
	}
	return nil
}

// RefuseAgents returns why the run cannot use agents; it is called before any agent is started.
func (c Config) RefuseAgents() error { return c.Scenario.refuseAgents() }
