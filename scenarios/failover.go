package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// failover runs the phase's rounds: in each a holder is in place, all others stand in
// line behind it, the cause strikes the holder, and everything that happens until the
// next grant is timed.
func (t *trial) failover(ctx context.Context) error {
	if t.cell.Clients < 2 {
		return errors.New("a failover needs a successor: at least 2 clients")
	}
	for i, r := range t.plan.Phases[t.phaseNum].Rounds {
		t.round = i + 1
		t.tell(fmt.Sprintf("round %d of %d", t.round, len(t.plan.Phases[t.phaseNum].Rounds)), "")
		f := &failover{
			trial: t, cause: causes[t.phase.Cause], planned: r, victim: t.clients[r.Holder],
			granted: make(chan granted, len(t.clients)), learned: make(chan learned, 64),
			seen: history.Failover{Next: -1},
		}
		if err := f.run(ctx); err != nil {
			return fmt.Errorf("round %d: %w", t.round, err)
		}
	}
	return nil
}

// failover is one round.
type failover struct {
	*trial
	cause   ending
	planned PlannedRound
	victim  *client
	claim   recipes.Claim // the victim's
	granted chan granted  // what the waiters' acquires came to
	learned chan learned  // what the victim learned about its grant
	waiters sync.WaitGroup

	strike  time.Duration
	session int64            // the victim's
	leads   bool             // the leader of the ensemble serves the victim
	seen    history.Failover // what becomes of it
}

// learned is something that the victim learned, and when.
type learned struct {
	kind recipes.EventKind
	at   time.Duration
}

// run plays the round, and leaves every client with a session and out of line.
func (f *failover) run(ctx context.Context) (err error) {
	waiting, cancel := context.WithCancel(ctx)
	defer f.waiters.Wait()
	defer cancel()
	f.claim, err = f.victim.acquireFirst(ctx)
	if errors.Is(err, recipes.ErrSessionEnded) { // in the phase before
		if err = f.victim.reopen(ctx); err == nil {
			f.claim, err = f.victim.acquireFirst(ctx)
		}
	}
	if err != nil {
		return fmt.Errorf("client %d: %w", f.victim.n, err)
	}
	for _, c := range f.clients {
		if c != f.victim {
			f.waiters.Go(func() { f.wait(waiting, c) })
		}
	}
	if err := f.inLine(ctx); err != nil {
		return err
	}
	if err := f.lull(ctx); err != nil {
		return err
	}
	next, err := f.hit(ctx)
	if err != nil {
		return err
	}
	f.report()
	if next == nil && f.seen.Restored == 0 {
		return fmt.Errorf("%s of client %d: %w", f.phase.Cause, f.victim.n, errNoGrant)
	}
	return f.reset(ctx, next)
}

// wait stands in line for the client. A waiter that loses its session comes back.
func (f *failover) wait(ctx context.Context, c *client) {
	for {
		claim, err := c.acquire(ctx)
		g := granted{c: c, claim: claim, err: err, at: f.clock.Now()}
		if !claim.At.IsZero() {
			g.at -= time.Since(claim.At)
		}
		if errors.Is(err, recipes.ErrSessionEnded) && ctx.Err() == nil && c.reopen(ctx) == nil {
			continue
		}
		f.granted <- g
		return
	}
}

// inLine returns when every member has the nodes of all clients.
func (f *failover) inLine(ctx context.Context) error {
	var last error // a session with a member that was down a moment ago may have to be opened anew
	err := poll(ctx, joinLimit, func(ctx context.Context) (bool, error) {
		var nodes int
		nodes, last = f.harness.fewest(ctx, f.parent)
		return last == nil && nodes >= len(f.clients) && f.tap.Totals().InFlight == 0, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %d clients stand in line: %w", len(f.clients), errors.Join(err, last))
	}
	return nil
}

// lull lets the planned time pass before the strike. The holder does what holders do.
func (f *failover) lull(ctx context.Context) error {
	until := time.After(f.planned.Wait)
	f.victim.write(ctx, f.claim)
	select {
	case <-until:
		return nil
	case g := <-f.granted:
		f.granted <- g // for the reset
		return fmt.Errorf("client %d was granted while client %d held undisturbed: %v", g.c.n, f.victim.n, g.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hit strikes the holder and waits for what becomes of it: the next grant, or nil
// where the holder holds on, or nothing comes.
func (f *failover) hit(ctx context.Context) (*granted, error) {
	f.victim.listen(func(e recipes.Event) {
		select {
		case f.learned <- learned{e.Kind, f.clock.Now()}:
		default: // more than anybody asked for
		}
	})
	defer f.victim.listen(nil)
	w := f.look(ctx)
	defer w.stop()
	s := f.victim.wire.Session()
	f.session = s.ID
	if f.cause.expires {
		leader, err := ensembles.Leader(ctx, f.lab.Ensemble)
		f.leads = err == nil && leader.Addr == s.Server
	}
	over, err := f.act(ctx, s.Server)
	if err != nil {
		return nil, err
	}
	next := f.await(ctx, f.predict().most)
	f.stages(ctx, w, next)
	if err := errors.Join(over(), ctx.Err()); err != nil {
		return nil, err
	}
	return next, nil
}

// act makes the cause happen; over undoes it, and waits until that is done.
func (f *failover) act(ctx context.Context, server string) (over func() error, err error) {
	none := func() error { return nil }
	if len(f.cause.faults) > 0 {
		return f.inject(ctx, server)
	}
	f.strike = f.clock.Now()
	if f.phase.Cause == CauseClose {
		return none, f.victim.leave(f.session)
	}
	return none, f.victim.release(ctx, f.claim)
}

// inject injects the cause's faults.
func (f *failover) inject(ctx context.Context, server string) (over func() error, err error) {
	a := &faults{t: f.trial, seed: f.plan.Phases[f.phaseNum].Seed + uint64(f.round),
		moments: &moments{}, recovery: newRecovery(ctx, f.trial), settled: make(chan struct{}, len(f.cause.faults))}
	for _, name := range f.cause.faults {
		target := chaos.Holder
		if chaos.TouchesMembers(name) {
			target = chaos.Leader
		}
		if f.phase.Cause == CauseServerKill {
			m, err := f.lab.Ensemble.Member(server)
			if err != nil {
				return nil, fmt.Errorf("the member that serves client %d: %w", f.victim.n, err)
			}
			target = m.Name
		}
		fault, err := chaos.Parse(name, target, nil)
		if err != nil {
			return nil, err
		}
		a.entries = append(a.entries, chaos.Entry{Fault: fault})
	}
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	f.strike = f.clock.Now()
	go func() {
		defer close(ended)
		a.play(ctx, func() int { return f.victim.n })
	}()
	return func() error {
		defer cancel()
		a.proven(ctx, ended) // a fault that is healed before its proof would count as none
		cancel()
		<-ended
		return a.recovery.wait()
	}, nil
}

// await waits for the next grant, or for the news that the holder holds on.
func (f *failover) await(ctx context.Context, most time.Duration) *granted {
	limit := time.NewTimer(2*most + settleLimit)
	defer limit.Stop()
	for {
		select {
		case g := <-f.granted:
			if g.err != nil {
				return nil
			}
			f.seen.Granted, f.seen.Next = g.at, g.c.n
			return &g
		case l := <-f.learned:
			switch {
			case l.kind == recipes.EventSuspended && f.seen.Suspended == 0:
				f.seen.Suspended = l.at
			case l.kind == recipes.EventRestored && f.cause.keeps:
				f.seen.Restored = l.at
				return nil
			}
		case <-limit.C:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// reset has the one who holds now let go, and everybody else in turn, and gives
// the victim a new session where it has lost its own.
func (f *failover) reset(ctx context.Context, next *granted) error {
	left := len(f.clients) - 1
	if next == nil {
		if err := f.victim.release(ctx, f.claim); err != nil {
			return fmt.Errorf("client %d: %w", f.victim.n, err)
		}
	} else {
		left--
		next.c.write(ctx, next.claim)
		if err := next.c.release(ctx, next.claim); err != nil {
			return fmt.Errorf("client %d: %w", next.c.n, err)
		}
		if err := f.returned(ctx); err != nil {
			return err
		}
	}
	d := &drain{trial: f.trial, granted: f.granted}
	for range left {
		g, err := d.next(ctx)
		if err != nil {
			return err
		}
		if err := g.c.release(ctx, g.claim); err != nil {
			return fmt.Errorf("client %d: %w", g.c.n, err)
		}
	}
	return nil
}

// returned brings the victim back: it lets go of what it may still think it holds,
// and opens a new session unless it has kept its own.
func (f *failover) returned(ctx context.Context) error {
	if f.phase.Cause == CauseRelease {
		return nil
	}
	if f.phase.Cause != CauseClose {
		_ = f.victim.release(ctx, f.claim) // as a rule it is lost, and the record says so
	}
	if err := f.victim.reopen(ctx); err != nil {
		return fmt.Errorf("client %d comes back: %w", f.victim.n, err)
	}
	return nil
}
