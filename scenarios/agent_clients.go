package scenarios

import (
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/agents"
)

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
