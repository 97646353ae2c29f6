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

	mu     sync.Mutex
	shots  map[int64]wire.ArmedRule
	behind map[string]wire.Dialer // the taps behind listeners, by address
	events []msg.WireEvent        // not sent yet
	count  int64
	more   chan struct{}
	ended  bool
}

// trial returns the running trial with that name, or nil.
func (s *server) trial(name string) *servedTrial {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.trials[name]
}

func (v *service) trial(name string) (*servedTrial, error) {
	if t := v.s.trial(name); t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("trial %s is not running on this agent", name)
}

func (v *service) client(a msg.ClientArgs) (wire.Client, error) {
	t, err := v.trial(a.Trial)
	if err != nil {
		return nil, err
	}
	return t.tap.Client(a.Client), nil
}

func (v *service) Begin(a msg.TrialArgs, _ *msg.Nothing) error {
	ctx, stop := context.WithCancel(context.Background())
	t := &servedTrial{
		parent: a.Parent, stop: stop, shots: map[int64]wire.ArmedRule{}, behind: map[string]wire.Dialer{}, more: make(chan struct{}, 1),
		tap: wire.New(func() time.Duration { return time.Duration(v.s.clock.At(time.Now())) }),
	}
	w := wire.Way{Digest: a.Digest}
	if a.Relay {
		w.Dial = func(_ context.Context, _, addr string) (net.Conn, error) {
			return open(v.s.link, msg.Opening{Kind: msg.StreamServer, Of: a.Trial, Addr: addr})
		}
	}
	t.tap.Through(w)
	t.tap.OnEvent(t.event)
	t.tap.Admit(func(c net.Conn) bool { ours, known := state.FromHere(c); return ours || !known })
	t.watch.Go(func() { t.tap.WatchDeadlines(ctx) })
	v.s.mu.Lock()
	defer v.s.mu.Unlock()
	v.s.trials[a.Trial] = t
	return nil
}

// event queues an event. It must not block.
func (t *servedTrial) event(e wire.Event) {
	w := msg.WireEvent{Event: e, Why: msg.Words(e.Err)}
	w.Err = nil
	t.mu.Lock()
	t.events = append(t.events, w)
	t.count++
	t.mu.Unlock()
	t.wake()
}

func (t *servedTrial) wake() {
	select {
	case t.more <- struct{}{}:
	default:
	}
}

// tell sends events until the trial has ended and all are sent.
func (t *servedTrial) tell(to net.Conn) {
	out := gob.NewEncoder(to)
	for {
		t.mu.Lock()
		events, ended := t.events, t.ended
		t.events = nil
		t.mu.Unlock()
		for _, e := range events {
			if out.Encode(e) != nil {
				return // the link is lost, and the trial ends with it
			}
		}
		if ended && len(events) == 0 {
			return
		}
		if !ended {
			<-t.more
		}
	}
}

// end closes the tap. The stream of events ends once all are sent.
func (t *servedTrial) end() {
	t.stop()
	t.watch.Wait()
	t.tap.Close()
	t.mu.Lock()
	t.ended = true
	t.mu.Unlock()
	t.wake()
}

func (v *service) End(name string, _ *msg.Nothing) error {
	v.s.mu.Lock()
	t := v.s.trials[name]
	delete(v.s.trials, name)
	v.s.mu.Unlock()
	if t != nil {
		t.end()
	}
	return nil
}

func (v *service) State(a msg.ClientArgs, s *msg.ClientState) error {
	t, err := v.trial(a.Trial)
	if err != nil {
		return err
	}
	c := t.tap.Client(a.Client)
	*s = msg.ClientState{Session: c.Session(), Known: c.Known(), Counts: c.Counts(), Unanswered: c.Unanswered(), Moments: c.Moments()}
	s.Node, s.HasNode = c.Node(t.parent)
	t.mu.Lock()
	s.Events = t.count
	t.mu.Unlock()
	return nil
}

func (v *service) Totals(name string, c *wire.Counts) error {
	t, err := v.trial(name)
	if err == nil {
		*c = t.tap.Totals()
	}
	return err
}

func (v *service) Listen(a msg.ListenArgs, addr *string) error {
	t, err := v.trial(a.Trial)
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
func (v *service) Hold(a msg.HoldArgs, _ *msg.Nothing) error {
	c, err := v.client(a.ClientArgs)
	if err != nil {
		return err
	}
	return c.Hold(a.Mode)
}

func (v *service) Thaw(a msg.ClientArgs, _ *msg.Nothing) error {
	c, err := v.client(a)
	if err == nil {
		c.Thaw()
	}
	return err
}

func (v *service) Gate(a msg.GateArgs, _ *msg.Nothing) error {
	c, err := v.client(a.ClientArgs)
	if err == nil {
		c.Gate(a.Closed)
	}
	return err
}

func (v *service) Cut(a msg.ClientArgs, n *int) error {
	c, err := v.client(a)
	if err == nil {
		*n = c.Cut()
	}
	return err
}

func (v *service) Arm(a msg.ArmArgs, _ *msg.Nothing) error {
	t, err := v.trial(a.Trial)
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

func (v *service) shot(a msg.ShotArgs) (wire.ArmedRule, error) {
	t, err := v.trial(a.Trial)
	if err != nil {
		return nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.shots[a.Shot]; s != nil {
		return s, nil
	}
	return nil, fmt.Errorf("rule %d is not active on this agent", a.Shot)
}

// Fired returns once a rule has matched or is disarmed.
func (v *service) Fired(a msg.ShotArgs, p *msg.ShotProof) error {
	s, err := v.shot(a)
	if err != nil {
		return err
	}
	p.Proof, p.Fired = <-s.Fired()
	p.Err, p.Proof.Err = msg.Words(p.Proof.Err), nil
	return nil
}

func (v *service) Release(a msg.ShotArgs, _ *msg.Nothing) error {
	s, err := v.shot(a)
	if err == nil {
		s.Release()
	}
	return err
}

// Disarm disarms a rule.
func (v *service) Disarm(a msg.ShotArgs, inTime *bool) error {
	s, err := v.shot(a)
	if err == nil {
		*inTime = s.Disarm()
	}
	return err
}
