package phases

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/stage"
)

type failoverRound struct {
	st     *stage.Stage
	cause  *Cause
	line   *stage.WaiterGroup
	holder *stage.Client
	held   *stage.Attempt   // the holder's attempt
	events chan holderEvent // events of the holder's grant

	injectedAt time.Duration
	session    int64 // the holder's session
	onLeader   bool  // the holder's member leads the ensemble
	result     history.Failover
	failed     error // the reason why the next client was not granted
}

type holderEvent struct {
	kind recipes.EventKind
	at   time.Duration
	wire bool // seen on the wire, not reported by the recipe
}

// run runs the round. After a round without an error, every client has a session and no client is in line.
func (f *failoverRound) run(ctx context.Context, wait time.Duration) (err error) {
	defer f.line.CancelAndWait()
	f.held, err = f.holder.AcquireUncontended(ctx)
	if errors.Is(err, recipes.ErrSessionEnded) {
		if err = f.holder.Reopen(ctx); err == nil {
			f.held, err = f.holder.AcquireUncontended(ctx)
		}
	}
	if err != nil {
		return err
	}
	f.line.StartOthers(f.holder, true)
	if err := f.st.AwaitInLine(ctx, len(f.st.Clients), stage.JoinLimit); err != nil {
		return err
	}
	answered := func(context.Context) (bool, error) { return f.st.Tap.Totals().InFlight == 0, nil }
	if err := stage.Poll(ctx, stage.JoinLimit, answered); err != nil {
		return fmt.Errorf("waiting until the servers have replied to all waiters: %w", err)
	}
	if err := f.hold(ctx, wait); err != nil {
		return err
	}
	next, err := f.inject(ctx)
	if err != nil {
		return err
	}
	f.record()
	if next == nil && f.result.Restored == 0 {
		return fmt.Errorf("%s of client %d: %w", f.cause.name, f.holder.Number, cmp.Or(f.failed, stage.ErrNoGrant))
	}
	return f.releaseAll(ctx, next)
}

func (f *failoverRound) hold(ctx context.Context, wait time.Duration) error {
	until := time.After(wait)
	f.held.Write(ctx)
	f.holder.Check(ctx, f.held.Claim)
	select {
	case <-until:
		return nil
	case a := <-f.line.Granted:
		return fmt.Errorf("client %d's acquire returned before the fault was injected, while client %d held the grant (acquire error: %v)", a.Client.Number, f.holder.Number, a.Err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// inject injects the cause and returns the next grant; nil if the holder keeps its grant or no client is granted.
func (f *failoverRound) inject(ctx context.Context) (*stage.Attempt, error) {
	f.holder.OnEvent.Store(new(func(e recipes.Event) {
		select {
		case f.events <- holderEvent{kind: e.Kind, at: f.st.Instant(e.At)}:
		default: // more events than are needed
		}
	}))
	defer f.holder.OnEvent.Store(nil)
	removed, stop := f.st.Observer.WatchRemoval(ctx, f.held.Claim.Path, f.st.Clock.Now)
	defer stop()
	s := f.holder.Wire.Session()
	f.session = s.ID
	f.st.OnResume.Store(new(f.resumed))
	defer f.st.OnResume.Store(nil)
	f.onLeader = f.cause.expires && f.st.Members.IsLeader(ctx, s.Server)
	before := stalled()
	heal, err := f.apply(ctx)
	if err != nil {
		return nil, err
	}
	next := f.await(ctx, f.predict().most)
	f.result.Stalled = stalled() - before
	f.recordStageTimes(ctx, removed, next)
	if f.cause.resumesAfterGrant && next != nil {
		err = f.resumeAfterPause(ctx, next, heal)
	} else {
		err = heal()
	}
	if err := errors.Join(err, ctx.Err()); err != nil {
		return nil, err
	}
	return next, nil
}

func (f *failoverRound) resumed(e wire.Event) {
	if e.Client == f.holder.Number && e.Session == f.session {
		select {
		case f.events <- holderEvent{recipes.EventRestored, e.At, true}:
		default:
		}
	}
}

// apply injects the cause. heal removes it and returns when it is healed.
func (f *failoverRound) apply(ctx context.Context) (heal func() error, err error) {
	if f.cause.act != nil {
		f.injectedAt = f.st.Clock.Now()
		return func() error { return nil }, f.cause.act(ctx, f.held)
	}
	entries, err := f.cause.entries()
	if err != nil {
		return nil, err
	}
	faults := stage.NewFaults(ctx, f.st, entries, f.st.Planned.Seed+uint64(f.st.Round))
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	f.injectedAt = f.st.Clock.Now()
	go func() {
		defer close(ended)
		faults.Play(ctx, func(bool) int { return f.holder.Number })
	}()
	return func() error {
		defer cancel()
		faults.AwaitActive(ctx, ended) // a fault that is healed before its proof would not count
		cancel()
		<-ended
		return faults.Close()
	}, nil
}

// await waits for the next grant, or until the holder's grant is restored, as reported by the recipe or,
// if the recipe reports no events, as seen on the wire.
func (f *failoverRound) await(ctx context.Context, most time.Duration) *stage.Attempt {
	limit := time.After(2*most + stage.QuietLimit)
	var reportDeadline <-chan time.Time
	var restoredAt time.Duration
	notified := false // the holder was notified of suspension or loss
	for {
		select {
		case a := <-f.line.Granted:
			if a.Err != nil {
				f.failed = fmt.Errorf("client %d: %w", a.Client.Number, a.Err)
				return nil
			}
			f.result.Granted, f.result.Next = a.ReturnedAt, a.Client.Number
			return a
		case e := <-f.events:
			switch {
			case e.kind != recipes.EventRestored:
				notified = true
				if e.kind == recipes.EventSuspended && f.result.Suspended == 0 {
					f.result.Suspended = e.at
				}
			case !f.cause.mayKeepGrant:
			case !e.wire || !f.st.Cell.Subject.Promises.Events:
				f.result.Restored = e.at
				return nil
			default:
				restoredAt, reportDeadline = e.at, time.After(f.st.Scenario.SessionTimeout)
			}
		case <-reportDeadline:
			if s := f.holder.Wire.Session(); !notified && s.ID == f.session && s.Server != "" && len(f.line.Granted) == 0 {
				f.result.Restored = restoredAt
				return nil
			}
		case <-limit:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// releaseAll lets the client that holds now release, then all waiters in order, and gives the first holder a new
// session if necessary.
func (f *failoverRound) releaseAll(ctx context.Context, next *stage.Attempt) error {
	left := len(f.st.Clients) - 1
	if next == nil {
		next = f.held
	} else {
		left--
		next.Write(ctx)
	}
	if err := f.release(ctx, next); err != nil {
		return err
	}
	if next != f.held {
		if err := f.rejoin(ctx); err != nil {
			return err
		}
	}
	for range left {
		a, err := f.line.Next(ctx)
		if err == nil {
			err = f.release(ctx, a)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// release ends a grant. A client that requeues by itself is closed and opened again, because its next node would
// delay the other waiters.
func (f *failoverRound) release(ctx context.Context, a *stage.Attempt) error {
	if err := a.Release(ctx); err != nil || !f.st.Cell.Subject.Promises.Requeues {
		return err
	}
	a.Client.Close()
	return a.Client.Reopen(ctx)
}

// rejoin lets the first holder release a grant that it may believe to hold, and opens a new session if the cause
// can end the session or the client requeues by itself.
func (f *failoverRound) rejoin(ctx context.Context) error {
	if f.cause.keepsSession && !f.st.Cell.Subject.Promises.Requeues {
		return nil
	}
	if f.holder.IsOpen() {
		f.holder.HoldsQueries.Wait() // a release would abort the pending ownership queries
		_ = f.held.Release(ctx)      // usually fails because the grant is lost; the record shows it
	}
	if f.st.Cell.Subject.Promises.Requeues { // a driver that continues in its next session is in line there
		f.holder.Close()
	}
	if err := f.holder.Reopen(ctx); err != nil {
		return fmt.Errorf("client %d failed to rejoin: %w", f.holder.Number, err)
	}
	return nil
}
