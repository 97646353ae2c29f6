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
	shots   map[int64]wire.ArmedRule
	behind  map[string]wire.Dialer // the taps behind listeners, by address
	events  []msg.WireEvent        // not sent yet
	count   int64                  // of all events
	ended   bool
	changed sync.Cond // of events or ended
}

func (s *server) trial(name string) (*servedTrial, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trials[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("trial %s is not running on this agent", name)
}

func (s *server) client(a msg.ClientArgs) (wire.Client, error) {
	t, err := s.trial(a.Trial)
	if err != nil {
		return nil, err
	}
	return t.tap.Client(a.Client), nil
}

func (s *server) Begin(a msg.TrialArgs, _ *msg.Nothing) error {
	ctx, stop := context.WithCancel(context.Background())
	t := &servedTrial{
		parent: a.Parent, stop: stop, shots: map[int64]wire.ArmedRule{}, behind: map[string]wire.Dialer{},
		tap: wire.New(func() time.Duration { return time.Duration(s.clock.At(time.Now())) }),
	}
	t.changed.L = &t.mu
	w := wire.Upstream{Digest: a.Digest}
	if a.Relay {
		w.Dial = func(_ context.Context, _, addr string) (net.Conn, error) {
			return open(s.link, msg.Opening{Kind: msg.StreamServer, Of: a.Trial, Addr: addr})
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
	w := msg.WireEvent{Event: e, Why: msg.Words(e.Err)}
	w.Err = nil
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, w)
	t.count++
	t.changed.Signal()
}

// sendEvents sends events until the trial has ended and all are sent.
func (t *servedTrial) sendEvents(to net.Conn) {
	out := gob.NewEncoder(to)
	for {
		t.mu.Lock()
		for len(t.events) == 0 && !t.ended {
			t.changed.Wait()
		}
		events := t.events
		t.events = nil
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
	state.Events = t.count
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

// Hold delays all bytes.
func (s *server) Hold(a msg.HoldArgs, _ *msg.Nothing) error {
	c, err := s.client(a.ClientArgs)
	if err != nil {
		return err
	}
	return c.Hold(a.Mode)
}

func (s *server) Thaw(a msg.ClientArgs, _ *msg.Nothing) error {
	c, err := s.client(a)
	if err == nil {
		c.EndHold()
	}
	return err
}

func (s *server) Gate(a msg.GateArgs, _ *msg.Nothing) error {
	c, err := s.client(a.ClientArgs)
	if err == nil {
		c.SetGateClosed(a.Closed)
	}
	return err
}

func (s *server) Cut(a msg.ClientArgs, n *int) error {
	c, err := s.client(a)
	if err == nil {
		*n = c.Cut()
	}
	return err
}

func (s *server) Arm(a msg.ArmArgs, _ *msg.Nothing) error {
	t, err := s.trial(a.Trial)
	if err != nil {
		return err
	}
	shot, err := t.tap.Client(a.Client).Arm(a.Rule)
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.shots[a.Shot] = shot
	return nil
}

func (s *server) shot(a msg.ShotArgs) (wire.ArmedRule, error) {
	t, err := s.trial(a.Trial)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if shot := t.shots[a.Shot]; shot != nil {
		return shot, nil
	}
	return nil, fmt.Errorf("rule %d is not active on this agent", a.Shot)
}

// Fired returns once a rule has matched or is disarmed.
func (s *server) Fired(a msg.ShotArgs, p *msg.ShotProof) error {
	shot, err := s.shot(a)
	if err != nil {
		return err
	}
	p.Proof, p.Fired = <-shot.Fired()
	p.Err, p.Proof.Err = msg.Words(p.Proof.Err), nil
	return nil
}

func (s *server) Release(a msg.ShotArgs, _ *msg.Nothing) error {
	shot, err := s.shot(a)
	if err == nil {
		shot.Release()
	}
	return err
}

func (s *server) Disarm(a msg.ShotArgs, inTime *bool) error {
	shot, err := s.shot(a)
	if err == nil {
		*inTime = shot.Disarm()
	}
	return err
}
