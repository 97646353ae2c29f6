package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/observer"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"golang.org/x/sync/errgroup"
)

type failoverRound struct {
	st      *stage
	cause   *cause
	line    *line
	victim  *client
	held    *attempt     // the victim's attempt
	learned chan learned // events of the victim's grant

	hitAt   time.Duration
	session int64 // the victim's session
	leads   bool  // the victim's member leads the ensemble
	seen    history.Failover
	failed  error // why the next client was not granted
}

// learned is an event of the victim, and its time.
type learned struct {
	kind recipes.EventKind
	at   time.Duration
	wire bool // seen on the wire, not reported by the recipe
}

// run runs the round. Afterwards every client has a session and none is in the queue.
func (f *failoverRound) run(ctx context.Context, wait time.Duration) (err error) {
	defer f.line.leave()
	f.held, err = f.victim.first(ctx)
	if errors.Is(err, recipes.ErrSessionEnded) {
		if err = f.victim.reopen(ctx); err == nil {
			f.held, err = f.victim.first(ctx)
		}
	}
	if err != nil {
		return err
	}
	f.line.join(f.victim, true)
	if err := f.st.inLine(ctx, len(f.st.clients), joinLimit); err != nil {
		return err
	}
	answered := func(context.Context) (bool, error) { return f.st.tap.Totals().InFlight == 0, nil }
	if err := poll(ctx, joinLimit, answered); err != nil {
		return fmt.Errorf("wait until all waiters have their replies: %w", err)
	}
	if err := f.hold(ctx, wait); err != nil {
		return err
	}
	next, err := f.hit(ctx)
	if err != nil {
		return err
	}
	f.record()
	if next == nil && f.seen.Restored == 0 {
		return fmt.Errorf("%s of client %d: %w", f.cause.name, f.victim.n, cmp.Or(f.failed, errNoGrant))
	}
	return f.reset(ctx, next)
}

// hold waits for the planned time before the hit, while the holder acts.
func (f *failoverRound) hold(ctx context.Context, wait time.Duration) error {
	until := time.After(wait)
	f.held.write(ctx)
	f.victim.check(ctx, f.held.claim)
	select {
	case <-until:
		return nil
	case a := <-f.line.granted:
		return fmt.Errorf("client %d was granted while client %d held undisturbed: %v", a.c.n, f.victim.n, a.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// hit makes the cause hit the holder and waits for the next grant. It returns nil if the holder
// keeps its grant or no client is granted.
func (f *failoverRound) hit(ctx context.Context) (*attempt, error) {
	f.victim.heard.Store(new(func(e recipes.Event) {
		select {
		case f.learned <- learned{kind: e.Kind, at: f.st.instant(e.At)}:
		default: // more events than are needed
		}
	}))
	defer f.victim.heard.Store(nil)
	removed, stop := f.st.observer.WatchRemoval(ctx, f.held.claim.Path, f.st.clock.Now)
	defer stop()
	s := f.victim.wire.Session()
	f.session = s.ID
	f.st.resumed.Store(new(f.resumed))
	defer f.st.resumed.Store(nil)
	f.leads = f.cause.expires && f.st.members.leads(ctx, s.Server)
	heal, err := f.apply(ctx)
	if err != nil {
		return nil, err
	}
	next := f.await(ctx, f.predict().most)
	f.stages(ctx, removed, next)
	if f.cause.goesOn && next != nil {
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
	if e.Client == f.victim.n && e.Session == f.session {
		select {
		case f.learned <- learned{recipes.EventRestored, e.At, true}:
		default:
		}
	}
}

// apply injects the cause; heal removes it and waits until that is done.
func (f *failoverRound) apply(ctx context.Context) (heal func() error, err error) {
	if f.cause.act != nil {
		f.hitAt = f.st.clock.Now()
		return func() error { return nil }, f.cause.act(ctx, f.held)
	}
	entries, err := f.cause.entries()
	if err != nil {
		return nil, err
	}
	faults := f.st.newFaults(ctx, entries, f.st.planned.Seed+uint64(f.st.round))
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	f.hitAt = f.st.clock.Now()
	go func() {
		defer close(ended)
		faults.play(ctx, func(bool) int { return f.victim.n })
	}()
	return func() error {
		defer cancel()
		faults.proven(ctx, ended) // a fault that is healed before its proof would not count
		cancel()
		<-ended
		return faults.close()
	}, nil
}

// await waits for the next grant, or for the event that the holder keeps its grant: from its
// recipe, or from the wire if the recipe reports no events.
func (f *failoverRound) await(ctx context.Context, most time.Duration) *attempt {
	limit := time.After(2*most + settleLimit)
	var silent <-chan time.Time
	var back time.Duration
	told := false // the holder was notified of suspension or loss
	for {
		select {
		case a := <-f.line.granted:
			if a.err != nil {
				f.failed = fmt.Errorf("client %d: %w", a.c.n, a.err)
				return nil
			}
			f.seen.Granted, f.seen.Next = a.at, a.c.n
			return a
		case l := <-f.learned:
			switch {
			case l.kind != recipes.EventRestored:
				told = true
				if l.kind == recipes.EventSuspended && f.seen.Suspended == 0 {
					f.seen.Suspended = l.at
				}
			case !f.cause.keeps:
			case !l.wire || !f.st.cell.Subject.Promises.Events:
				f.seen.Restored = l.at
				return nil
			default:
				back, silent = l.at, time.After(f.st.scenario.SessionTimeout)
			}
		case <-silent:
			if s := f.victim.wire.Session(); !told && s.ID == f.session && s.Server != "" && len(f.line.granted) == 0 {
				f.seen.Restored = back
				return nil
			}
		case <-limit:
			return nil
		case <-ctx.Done():
			return nil
		}
	}
}

// reset lets the current holder release, then all others in order, and gives the victim a new
// session if it lost its own.
func (f *failoverRound) reset(ctx context.Context, next *attempt) error {
	left := len(f.st.clients) - 1
	if next == nil {
		next = f.held
	} else {
		left--
		next.write(ctx)
	}
	if err := next.release(ctx); err != nil {
		return err
	}
	if next != f.held {
		if err := f.comeBack(ctx); err != nil {
			return err
		}
	}
	for range left {
		a, err := f.line.next(ctx)
		if err == nil {
			err = a.release(ctx)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// comeBack lets the victim release a grant that it may still believe in, and opens a new session if
// the cause needs it.
func (f *failoverRound) comeBack(ctx context.Context) error {
	if f.cause.stays {
		return nil
	}
	if f.victim.opened() {
		f.victim.asking.Wait()  // a release would end the question whether it still holds
		_ = f.held.release(ctx) // usually lost, which the record shows
	}
	if err := f.victim.reopen(ctx); err != nil {
		return fmt.Errorf("client %d comes back: %w", f.victim.n, err)
	}
	return nil
}

// recoveryLimit bounds the time that an ensemble needs to recover before the trial ends: later
// measurements would be meaningless.
const recoveryLimit = 90 * time.Second

// recovery checks after each fault whether the ensemble is whole again, and measures the time since
// healing began.
type recovery struct {
	st  *stage
	ctx context.Context

	mu      sync.Mutex
	force   map[string]bool
	abandon context.CancelFunc // ends the wait in progress, or nil
	waits   sync.WaitGroup
	errs    []error
}

func newRecovery(ctx context.Context, st *stage) *recovery {
	return &recovery{st: st, ctx: ctx, force: map[string]bool{}}
}

// errNotWhole is wrapped when the ensemble cannot serve the trial.
var errNotWhole = errors.New("the ensemble is not whole")

func key(p chaos.Window) string { return fmt.Sprint(p.Fault, p.Start) }

// injected records an active fault; recovery cannot begin before it is healed.
func (r *recovery) injected(p chaos.Window) {
	if !chaos.TouchesMembers(p.Fault) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.force[key(p)] = true
	r.st.memberFaults.Add(1)
	if r.abandon != nil {
		r.abandon()
	}
}

// healed records a healed fault, and waits for recovery once no other is active.
func (r *recovery) healed(p chaos.Window) {
	if !chaos.TouchesMembers(p.Fault) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.force[key(p)] {
		return // it was never active
	}
	delete(r.force, key(p))
	if len(r.force) > 0 {
		r.st.memberFaults.Add(-1)
		return
	}
	ctx, cancel := context.WithCancel(r.ctx)
	r.abandon = cancel
	r.waits.Go(func() {
		defer cancel()
		defer r.st.memberFaults.Add(-1)
		r.await(ctx, p)
	})
}

// await waits until the ensemble is whole and records the time. A new fault ends the wait without a
// record.
func (r *recovery) await(ctx context.Context, p chaos.Window) {
	err := whole(ctx, r.st.members.ensemble, r.st.observer.Root+"/whole")
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.errs = append(r.errs, fmt.Errorf("%w: after %s of %s it has not recovered: %w", errNotWhole, p.Fault, p.Target, err))
		return
	}
	r.st.record.Record(&history.Recovered{At: r.st.clock.Now(), Phase: r.st.phase.Name, Fault: p.Fault, Healing: p.Healing})
}

// WhenWaiting waits for the last recovery. It fails if the ensemble has not recovered.
func (r *recovery) wait() error {
	if r == nil {
		return nil
	}
	r.waits.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.errs...)
}

// whole returns when every member serves, one leads, and a write at one member was read at all
// others. It opens new sessions: the reconnect delay of an existing one would add to the time.
func whole(ctx context.Context, e *ensembles.Ensemble, path string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, recoveryLimit, fmt.Errorf("not within %v", recoveryLimit))
	defer cancel()
	if err := ensembles.WaitServing(ctx, e); err != nil {
		return err
	}
	sessions := make([]*recipes.Session, len(e.Members))
	defer func() {
		for _, s := range sessions {
			if s != nil {
				s.Close()
			}
		}
	}()
	var g errgroup.Group
	for i, m := range e.Members {
		g.Go(func() (err error) {
			sessions[i], err = recipes.Open(ctx, []string{m.Addr}, observer.HarnessOptions(e, 0))
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	if err := seen(ctx, sessions, path); err != nil {
		return fmt.Errorf("a write is not seen by every member: %w", err)
	}
	return nil
}

func seen(ctx context.Context, sessions []*recipes.Session, path string) error {
	if err := sessions[0].MakePath(ctx, path); err != nil {
		return err
	}
	stat, err := sessions[0].Set(ctx, path, nil, -1)
	if err != nil {
		return err
	}
	var g errgroup.Group
	for _, s := range sessions {
		g.Go(func() error {
			return poll(ctx, recoveryLimit, func(ctx context.Context) (bool, error) {
				got, err := s.Exists(ctx, path)
				return got != nil && got.Mzxid >= stat.Mzxid, err
			})
		})
	}
	return g.Wait()
}
