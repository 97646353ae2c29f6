package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// provocation is something that is done to a subject on purpose, because a known
// mistake shows then.
type provocation struct {
	name    string
	about   string
	clients int
	queue   bool // for queues; else for locks and elections
	run     func(ctx context.Context, p *provoked) error
}

// provoked is a provocation under way.
type provoked struct {
	*trial
	turns []*turn // by client: its last turn; nil before the first
	tasks sync.WaitGroup
	stop  context.CancelFunc // calls off every acquire that is under way
	calls context.Context    // that the acquires run under
}

// Limits of a provocation. All are far above what a sound recipe needs.
const (
	provokeLimit = 18 * time.Second        // the whole of it
	grantLimit   = 4 * time.Second         // for a grant that nothing stands in the way of
	settledLimit = time.Second             // for a line in which nothing moves any more
	stuckLook    = 1200 * time.Millisecond // how long a line is watched in which nobody gets on
	writeEvery   = 100 * time.Millisecond  // by a holder that goes on holding
)

// provoke plays the provocation, lets everybody have a turn, and looks at what is left.
func (t *trial) provoke(ctx context.Context) error {
	what, _ := findProvocation(t.cell.Provocation)
	ctx, cancel := context.WithTimeoutCause(ctx, provokeLimit, errors.New("the provocation took too long"))
	defer cancel()
	p := &provoked{trial: t, turns: make([]*turn, len(t.clients))}
	p.calls, p.stop = context.WithCancel(ctx)
	defer p.tasks.Wait()
	defer p.stop()
	before := t.effortsNow()
	t.tell(what.name, "")
	err := what.run(ctx, p)
	t.efforts(before)
	if err != nil {
		return fmt.Errorf("provocation %s: %w", what.name, err)
	}
	if what.queue {
		return nil
	}
	if stuck := p.everybody(ctx); stuck {
		if _, err := t.look(ctx, stuckLook); err != nil {
			return err
		}
	}
	p.stop()
	p.tasks.Wait()
	return t.lookIdle(ctx)
}

// turn is one acquire of a client, and what came of it.
type turn struct {
	c     *client
	done  chan struct{} // closed when the acquire has returned
	claim recipes.Claim
	err   error
	over  bool // released, or given up for good
}

// inDoubt says that the holder was told that its grant is suspended or lost.
func (tn *turn) inDoubt() bool {
	e := tn.c.learned.Load()
	return e != nil && e.Token == tn.claim.Token && e.Kind != recipes.EventRestored
}

func (tn *turn) returned() bool {
	select {
	case <-tn.done:
		return true
	default:
		return false
	}
}

// begin has client i acquire in the background.
func (p *provoked) begin(i int) *turn { return p.beginIn(p.calls, i) }

// beginIn is begin for an acquire that is given up when ctx ends.
func (p *provoked) beginIn(ctx context.Context, i int) *turn {
	tn := &turn{c: p.clients[i], done: make(chan struct{})}
	p.turns[i] = tn
	p.tasks.Go(func() {
		defer close(tn.done)
		tn.claim, tn.err = tn.c.acquire(ctx)
	})
	return tn
}

// first has client i acquire, and write as its holder; it must be granted.
func (p *provoked) first(ctx context.Context, i int) (*turn, error) {
	tn := p.begin(i)
	if !p.await(ctx, tn, grantLimit) || tn.err != nil {
		return tn, fmt.Errorf("client %d was not granted what nobody held: %w", i, tn.err)
	}
	p.act(ctx, tn)
	return tn, nil
}

// await waits until the turn's acquire has returned.
func (p *provoked) await(ctx context.Context, tn *turn, limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	select {
	case <-tn.done:
		return true
	case <-late.C:
	case <-ctx.Done():
	}
	return false
}

// act is what a holder does: it writes to the resource, and the lab looks at its node.
func (p *provoked) act(ctx context.Context, tn *turn) {
	tn.c.write(ctx, tn.claim)
	tn.c.check(ctx, tn.claim)
}

// letGo releases, and once more where the first time has failed: whoever is told
// that a release failed has a right to try again.
func (p *provoked) letGo(ctx context.Context, tn *turn) {
	tn.over = true
	if err := tn.c.release(ctx, tn.claim); err != nil && !errors.Is(err, recipes.ErrGrantLost) {
		_ = tn.c.release(ctx, tn.claim) // what is left behind is seen by looking
	}
}

// inLine waits until n nodes stand in line, and then until nothing moves any more.
// A line that does not come to rest is left as it is.
func (p *provoked) inLine(ctx context.Context, n int) error {
	err := poll(ctx, grantLimit, func(ctx context.Context) (bool, error) {
		fewest, err := p.harness.fewest(ctx, p.parent)
		return fewest >= n, err
	})
	if err != nil {
		return fmt.Errorf("wait until %d stand in line: %w", n, err)
	}
	p.settled(ctx)
	return ctx.Err()
}

// everywhere returns when every member has n nodes in the line: a question that is let
// go then is not answered from the past.
func (p *provoked) everywhere(ctx context.Context, n int) error {
	err := poll(ctx, grantLimit, func(ctx context.Context) (bool, error) {
		fewest, most, err := p.harness.children(ctx, p.parent, sequential)
		return fewest == n && most == n, err
	})
	if err != nil {
		return fmt.Errorf("wait until every member has %d nodes in line: %w", n, err)
	}
	return nil
}

// settled waits until the wire has been still for a while, or for settledLimit.
func (p *provoked) settled(ctx context.Context) {
	var last wire.Counts
	still := 0
	_ = poll(ctx, settledLimit, func(context.Context) (bool, error) { // restless is fine
		now := p.tap.Totals()
		if now.InFlight == 0 && now.Requests.Total() == last.Requests.Total() && now.Notifications == last.Notifications {
			still++
		} else {
			still = 0
		}
		last = now
		return still >= stillPolls, nil
	})
}

// target is the world as faults see it.
func (p *provoked) target() chaos.Target {
	taps := make([]*wire.Client, len(p.clients))
	for i, c := range p.clients {
		taps[i] = c.wire
	}
	return chaos.Target{Ensemble: p.lab.Ensemble, Network: p.lab.Network, Clients: taps, Holder: func() int { return -1 }}
}

// strike injects a fault that needs no healing, and records it.
func (p *provoked) strike(ctx context.Context, fault, target string, params map[string]string) error {
	f, err := chaos.Parse(fault, target, params)
	if err != nil {
		return err
	}
	start := p.clock.Now()
	e, err := f.Inject(ctx, p.target())
	w := &history.Window{Fault: f.String(), Target: e.Target, Client: e.Client, Start: start, End: p.clock.Now(), Proof: e.Proof}
	if err != nil {
		w.Err, w.Client = err.Error(), -1
	}
	p.record.Record(w)
	return err
}

// arm aims a rule at client i.
func (p *provoked) arm(i int, r wire.Rule) (*wire.Shot, error) { return p.clients[i].wire.Arm(r) }

// hit waits for a rule to strike, and records it as the fault that it is. A rule
// that does not strike is taken out of force; needed says that this spoils the
// provocation.
func (p *provoked) hit(ctx context.Context, shot *wire.Shot, needed bool) (proof wire.Proof, struck bool) {
	late := time.NewTimer(2 * time.Second)
	defer late.Stop()
	select {
	case proof, struck = <-shot.Fired():
	case <-late.C:
		shot.Disarm()
	case <-ctx.Done():
		shot.Disarm()
	}
	switch {
	case struck && proof.Err == nil:
		p.record.Record(&history.Window{Fault: faultOf(proof.Rule.Act), Target: fmt.Sprintf("client %d", proof.Client), Client: proof.Client,
			Start: proof.Matched, End: proof.Done, Proof: proof.String()})
	case needed:
		p.record.Record(&history.Window{Fault: "wire rule", Target: "clients", Client: -1, Start: p.clock.Now(), End: p.clock.Now(),
			Err: fmt.Sprintf("no request came that it was aimed at: %v", proof.Err)})
	}
	return proof, struck && proof.Err == nil
}

// faultOf is what the catalogue of faults calls an act.
func faultOf(a wire.Act) string {
	switch a {
	case wire.DropReply:
		return "reply.drop"
	case wire.HoldRequest:
		return "request.hold"
	}
	return "request.drop"
}

// connected waits until client i has a session, the same or another.
func (p *provoked) connected(ctx context.Context, i int) error {
	return poll(ctx, grantLimit, func(context.Context) (bool, error) {
		return p.clients[i].wire.Session().Server != "", nil
	})
}

// everybody lets every client have a turn that ends: those who wait get theirs, those
// who do not stand in line. stuck says that nobody got on any more.
func (p *provoked) everybody(ctx context.Context) (stuck bool) {
	ctx, cancel := context.WithCancel(ctx)
	finished := make(chan struct{}, len(p.clients))
	var turns sync.WaitGroup
	for i := range p.clients {
		turns.Go(func() {
			if p.oneTurn(ctx, i) {
				finished <- struct{}{}
			}
		})
	}
	defer turns.Wait()
	defer cancel()
	for range p.clients {
		late := time.NewTimer(grantLimit)
		select {
		case <-finished:
			late.Stop()
		case <-late.C:
			return true
		case <-ctx.Done():
			late.Stop()
			return true
		}
	}
	return false
}

// oneTurn sees client i through one turn. It returns false if that came to no end.
func (p *provoked) oneTurn(ctx context.Context, i int) bool {
	tn := p.turns[i]
	for tries := 0; tries < 3; tries++ {
		if tn == nil || tn.over || tn.returned() && tn.err != nil {
			if tn != nil && errors.Is(tn.err, recipes.ErrSessionEnded) {
				if err := p.clients[i].reopen(ctx); err != nil {
					return false
				}
			}
			tn = p.begin(i)
		}
		select {
		case <-tn.done:
		case <-ctx.Done():
			return false
		}
		if tn.err != nil {
			continue
		}
		if tn.inDoubt() {
			return false // it steps back and does not come back: nothing for it to let go
		}
		p.act(ctx, tn)
		p.letGo(ctx, tn)
		return true
	}
	return true // it gave up, and stands in nobody's way unless it left something
}
