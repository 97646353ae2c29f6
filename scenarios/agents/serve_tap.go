package agents

import (
	"context"
	"encoding/gob"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/scenarios/agents/internal/msg"
)

type servedTrial struct {
	parent string
	tap    *wire.Tap
	stop   context.CancelFunc
	watch  sync.WaitGroup

	mu      sync.Mutex
	rules   []wire.ArmedRule
	behind  map[string]wire.Dialer // the taps behind listeners, by address
	unsent  []msg.WireEvent
	events  int64 // number of events so far
	ended   bool
	changed sync.Cond // of unsent or ended
}

func (s *server) trial(name string) (*servedTrial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trials[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("trial %s is not running on this agent", name)
}

func (s *server) onClient(a msg.ClientArgs, f func(wire.Client) error) error {
	t, err := s.trial(a.Trial)
	if err != nil {
		return err
	}
	return f(t.tap.Client(a.Client))
}

func (s *server) Begin(a msg.TrialArgs, _ *msg.Nothing) error {
	ctx, stop := context.WithCancel(context.Background())
	t := &servedTrial{
		parent: a.Parent, stop: stop, behind: map[string]wire.Dialer{},
		tap: wire.New(func() time.Duration { return time.Duration(s.clock.At(time.Now())) }),
	}
	t.changed.L = &t.mu
	w := wire.Upstream{Digest: a.Digest}
	if a.Relay {
		w.Dial = func(_ context.Context, _, addr string) (net.Conn, error) {
			return open(s.link, msg.Opening{Kind: msg.StreamServer, Trial: a.Trial, Addr: addr})
		}
	}
	t.tap.SetUpstream(w)
	t.tap.OnEvent(t.event)
	t.tap.SetAdmit(func(c net.Conn) bool { ours, known := state.FromHere(c); return ours || !known })
	t.watch.Go(func() { t.tap.WatchDeadlines(ctx) })
	err := s.add(func() { s.trials[a.Trial] = t })
	if err != nil {
		t.end()
	}
	return err
}

// event queues an event. It must not block.
func (t *servedTrial) event(e wire.Event) {
	w := msg.WireEvent{Event: e, Why: msg.ErrorText(e.Err)}
	w.Err = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unsent = append(t.unsent, w)
	t.events++
	t.changed.Signal()
}

func (t *servedTrial) sendEvents(to net.Conn) {
	out := gob.NewEncoder(to)
	for {
		t.mu.Lock()
		for len(t.unsent) == 0 && !t.ended {
			t.changed.Wait()
		}
		events := t.unsent
		t.unsent = nil
		t.mu.Unlock()
		if len(events) == 0 {
			return
		}
		for _, e := range events {
			if out.Encode(e) != nil {
				return // the link is lost, and the trial ends with it
			}
		}
	}
}

// end closes the tap. The stream of events ends once all are sent.
func (t *servedTrial) end() {
	t.stop()
	t.watch.Wait()
	t.tap.Close()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
	t.changed.Signal()
}

func (s *server) End(name string, _ *msg.Nothing) error {
	s.mu.Lock()
	t := s.trials[name]
	delete(s.trials, name)
	s.mu.Unlock()
	if t != nil {
		t.end()
	}
	return nil
}

func (s *server) State(a msg.ClientArgs, state *msg.ClientState) error {
	t, err := s.trial(a.Trial)
	if err != nil {
		return err
	}
	c := t.tap.Client(a.Client)
	*state = msg.ClientState{Session: c.Session(), Known: c.Known(), Counts: c.Counts(), Unanswered: c.Unanswered(), Moments: c.Moments()}
	state.Node, state.HasNode = c.Node(t.parent)
	t.mu.Lock()
	defer t.mu.Unlock()
	state.Events = t.events
	return nil
}

func (s *server) Totals(name string, c *wire.Counts) error {
	t, err := s.trial(name)
	if err == nil {
		*c = t.tap.Totals()
	}
	return err
}

func (s *server) Listen(a msg.ListenArgs, addr *string) error {
	t, err := s.trial(a.Trial)
	if err != nil {
		return err
	}
	c := t.tap.Client(a.Client)
	if *addr, err = c.Listen(a.Server, nil); err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.behind[*addr] = func(network, _ string, timeout time.Duration) (net.Conn, error) {
		return c.Dial(network, a.Server, timeout)
	}
	return nil
}

func (s *server) Hold(a msg.ClientArgs, _ *msg.Nothing) error {
	return s.onClient(a, func(c wire.Client) error { return c.Hold() })
}

func (s *server) EndHold(a msg.ClientArgs, _ *msg.Nothing) error {
	return s.onClient(a, func(c wire.Client) error { c.EndHold(); return nil })
}

func (s *server) SetGateClosed(a msg.GateArgs, _ *msg.Nothing) error {
	return s.onClient(a.ClientArgs, func(c wire.Client) error { c.SetGateClosed(a.Closed); return nil })
}

func (s *server) Cut(a msg.ClientArgs, n *int) error {
	return s.onClient(a, func(c wire.Client) error { *n = c.Cut(); return nil })
}

func (s *server) Arm(a msg.ArmArgs, number *int) error {
	t, err := s.trial(a.Trial)
	if err != nil {
		return err
	}
	rule, err := t.tap.Client(a.Client).Arm(a.Rule)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rules = append(t.rules, rule)
	*number = len(t.rules) - 1
	return nil
}

func (s *server) rule(a msg.RuleArgs) (wire.ArmedRule, error) {
	t, err := s.trial(a.Trial)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rules[a.Number], nil
}

func (s *server) Fired(a msg.RuleArgs, p *msg.RuleProof) error {
	rule, err := s.rule(a)
	if err != nil {
		return err
	}
	p.Proof, p.Fired = <-rule.Fired()
	p.Err, p.Proof.Err = msg.ErrorText(p.Proof.Err), nil
	return nil
}

func (s *server) Release(a msg.RuleArgs, _ *msg.Nothing) error {
	rule, err := s.rule(a)
	if err == nil {
		rule.Release()
	}
	return err
}

func (s *server) Disarm(a msg.RuleArgs, inTime *bool) error {
	rule, err := s.rule(a)
	if err == nil {
		*inTime = rule.Disarm()
	}
	return err
}
