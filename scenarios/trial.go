package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/observer"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/agents"
)

type trial struct {
	runner *runner
	name   string
	plan   spec.Plan
	seat   *turnSlot // serializes trials that share the ensemble
	stage  *stage

	again    int  // number of earlier attempts
	look     int  // number of the evaluation of its comparison that follows; see enough
	unplayed bool // could not run to its end
}

// errBroken means that the history could not be written.
var errBroken = errors.New("the history cannot be written")

// run runs the trial. Afterwards its sessions are closed and its subtree is removed, also after an
// error.
func (t *trial) run(ctx context.Context) error {
	return protected(func() error { return t.play(ctx) })
}

// protected turns a panic of f into an error, so that the run heals faults and keeps its results.
func protected(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = panicError{p, debug.Stack()}
		}
	}()
	return f()
}

type panicError struct {
	value any
	stack []byte
}

func (e panicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// Is makes the outcome of an operation that panicked unknown.
func (e panicError) Is(target error) bool { return target == recipes.ErrUnfinished }

func (t *trial) play(ctx context.Context) (err error) {
	if err := t.seat.acquire(ctx); err != nil {
		return err
	}
	defer t.seat.leave()
	st := t.stage
	st.clock = history.Start()
	failed := make(chan error, 1)
	stop, unready := t.setUp(ctx, failed)
	defer stop()
	st.record, err = history.Create(report.HistoryPath(t.runner.dir, t.name), t.header())
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	defer func() { err = errors.Join(err, st.record.Close()) }()
	ctx, cancel := whileWritten(ctx, st.record)
	defer cancel()
	ctx, st.end = context.WithCancelCause(ctx)
	defer st.end(nil)
	if unready == nil {
		go st.watchEnsemble(ctx, st.end)
	}
	return t.recorded(ctx, func() error {
		if unready != nil {
			return unready
		}
		return t.phasesUnless(ctx, failed)
	})
}

func whileWritten(ctx context.Context, record *history.Writer) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-record.Broken():
			cancel(fmt.Errorf("%w: %w", errBroken, record.Err()))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// recorded creates the trial's subtree, calls play, and records the load of the members and of
// zkbench until it returns.
func (t *trial) recorded(ctx context.Context, play func() error) (err error) {
	st := t.stage
	after, err := st.members.lastZxid(ctx)
	if err != nil {
		return reason(ctx, err)
	}
	defer func() { err = errors.Join(err, t.saveCommits(after)) }()
	go st.tap.WatchDeadlines(ctx)
	watch := watchSelf(st.record, st.scenario.Limits.Within(st.scenario.SessionTimeout))
	defer watch.stop(st.clock.Now)
	defer func() { _ = st.observer.Close() }() // the runner removes the remaining nodes, or reports an error
	if err := st.openTree(ctx); err != nil {
		return reason(ctx, err)
	}
	defer st.tap.Close()
	defer st.recordPipe()
	defer st.closeClients()
	return t.playable(ctx, play())
}

func (st *stage) openTree(ctx context.Context) error {
	if err := errors.Join(st.observer.Open(ctx, st.parent), st.fence.Open(ctx)); err != nil || !st.driven {
		return err
	}
	return st.observer.Open(ctx, st.resource())
}

// recordPipe records the time of a round trip to the driver, if any.
func (st *stage) recordPipe() {
	if pipe := st.cell.Subject.Pipe; pipe != nil {
		p50, p99, of := pipe()
		st.record.Record(&history.Pipe{At: st.clock.Now(), P50: p50, P99: p99, Count: of, Clock: st.clockError()})
	}
}

// setUp creates the trial's tap and starts the subject if it has to be started. failed receives the
// first error after which the trial cannot be evaluated. stop undoes both.
func (t *trial) setUp(ctx context.Context, failed chan<- error) (stop func(), err error) {
	unlisten, err := t.listen()
	if err != nil {
		return unlisten, err
	}
	end, err := t.ready(ctx, failed)
	return func() { end(); unlisten() }, err
}

func (t *trial) listen() (stop func(), err error) {
	st := t.stage
	if t.runner.fleet != nil {
		return t.listenElsewhere()
	}
	tap := wire.New(st.clock.Now)
	tap.Through(observer.WayTo(st.members.ensemble))
	tap.OnEvent(st.recordSession)
	tap.Admit(observer.OwnProcesses(t.runner.logf))
	st.tap = tap
	return tap.Close, nil
}

// ready starts the subject if it has to be started.
func (t *trial) ready(ctx context.Context, failed chan<- error) (stop func(), err error) {
	st := t.stage
	if (st.scenario.Apart || t.runner.fleet != nil) && st.cell.Subject.Start == nil {
		if st.cell.Subject, err = t.runner.driven(st.cell.Subject, st.scenario.Apart); err != nil {
			return func() {}, err
		}
	}
	given := st.cell.Subject
	if given.Start == nil {
		return func() {}, nil
	}
	st.driven = true
	dir := filepath.Join(t.runner.dir, report.DriverDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return func() {}, err
	}
	st.cell.Subject, stop, err = given.Start(ctx, recipes.Trial{
		Clients: st.cell.Clients, Stderr: filepath.Join(dir, t.name), Owner: state.Self().String(),
		Alone: st.cell.SeparateProcess(), Kept: t.runner.kept, Site: t.site(),
		Fail: func(err error) {
			select {
			case failed <- err:
			default: // keep only the first
			}
		},
	})
	if given.Open != nil { // it is compiled in, and its promises are known better than a driver reports them
		open, pipe := st.cell.Subject.Open, st.cell.Subject.Pipe
		st.cell.Subject = given
		st.cell.Subject.Start, st.cell.Subject.Pipe = nil, pipe
		st.cell.Subject.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			env.Seen = nil // the recipe reports its own claim
			return open(ctx, env)
		}
	}
	return stop, err
}

// phasesUnless runs the trial's phases until one fails or failed receives an error.
func (t *trial) phasesUnless(ctx context.Context, failed <-chan error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	over := make(chan struct{})
	defer close(over)
	go func() {
		select {
		case err := <-failed:
			fail(err)
		case <-over:
		}
	}()
	return t.phases(ctx)
}

func (t *trial) phases(ctx context.Context) error {
	st := t.stage
	if err := st.openClients(ctx); err != nil {
		return reason(ctx, err)
	}
	for i, p := range st.scenario.Phases {
		st.phase, st.planned = p, t.plan.Phases[i]
		if err := t.runPhase(ctx, i); err != nil {
			return reason(ctx, fmt.Errorf("phase %s: %w", p.Name, err))
		}
	}
	return nil
}

// playable records an error that concerns only this trial: it could not run to its end, but others
// can. It returns errors that end the run: an interruption, a history that cannot be written, an
// ensemble that does not serve.
func (t *trial) playable(ctx context.Context, err error) error {
	st := t.stage
	if _, ok := errors.AsType[panicError](err); ok {
		why, _, _ := strings.Cut(err.Error(), "\n") // without the stack
		st.record.Record(&history.Unplayed{At: st.clock.Now(), Why: why})
		t.runner.logf("trial %s ended: %v", t.name, err)
		return nil
	}
	switch {
	case errors.Is(err, errNotWhole):
		st.record.Record(&history.Unplayed{At: st.clock.Now(), Why: err.Error()})
		return err
	case err == nil || errors.Is(err, errBroken):
		return err
	case ctx.Err() != nil:
		st.record.Record(&history.Unplayed{At: st.clock.Now(), Why: "it was interrupted"})
		return err
	}
	if st.members.ours() {
		if sick := whole(ctx, st.members.ensemble, st.observer.Root+"/whole"); sick != nil {
			return reason(ctx, fmt.Errorf("%w: %w, after %w", errNotWhole, sick, err))
		}
	}
	not := errors.Is(err, errInapplicable)
	t.unplayed = !not
	st.record.Record(&history.Unplayed{At: st.clock.Now(), Why: err.Error(), Inapplicable: not})
	if not {
		return nil
	}
	t.runner.logf("trial %s could not be run: %v", t.name, err)
	return nil
}

func (t *trial) header() history.Header {
	c := t.stage.cell
	s := c.Scenario
	return history.Header{
		Trial: t.name, Repetition: c.Trial, Again: t.again, Look: t.look, Seed: t.runner.seed,
		Cell:   c.Recorded(),
		Recipe: string(c.Subject.Recipe), Permits: c.Permits(), Variant: string(c.Subject.Variant), Promises: promises(c.Subject),
		Thresholds: s.Thresholds, Formulas: c.Subject.Formulas.Text, Expect: c.Caught,
	}
}

func promises(s recipes.Subject) history.Promises {
	p := s.Promises
	return history.Promises{
		Exclusive: p.Exclusive, FIFO: p.FIFO, Delivery: string(p.Delivery), Writers: p.Writers || p.FIFO && s.Recipe == recipes.RecipeRWLock, Requeues: p.Requeues, Deadline: p.Deadline, Events: p.Events,
	}
}

// reason returns the cause of ctx's cancellation if it was canceled, otherwise err.
func reason(ctx context.Context, err error) error {
	if c := context.Cause(ctx); c != nil {
		return c
	}
	return err
}

func (t *trial) runPhase(ctx context.Context, i int) (err error) {
	st := t.stage
	p, k := st.phase, spec.KindNamed(st.phase.Kind)
	if err := k.Suits(st.cell.Subject); err != nil {
		return err
	}
	st.round = 0
	st.stopped.Store(0)
	st.record.Record(&history.PhaseStart{At: st.clock.Now(), Name: p.Name, Index: i, Kind: p.Kind, Pace: k.Pace, Contenders: p.Contenders, Params: p.Params()})
	defer func() {
		st.waiting()
		st.record.Record(&history.PhaseEnd{At: st.clock.Now(), Name: p.Name, Index: i, Stopped: time.Duration(st.stopped.Load())})
	}()
	leave, err := st.enter(ctx, k)
	defer leave()
	if err != nil {
		return err
	}
	if err := st.prepareFaults(ctx); err != nil {
		return err
	}
	defer func() {
		st.events.Store(nil)
		err = errors.Join(err, st.faults.close())
	}()
	before := st.efforts()
	defer func() { st.recordEfforts(before) }()
	return runKind[p.Kind](ctx, st)
}

// recordSession records session events of the tap: a new session, an expiry reported by a server, a
// deadline that passed, a lost reply.
func (st *stage) recordSession(e wire.Event) {
	if told := st.resumed.Load(); told != nil && e.Kind == wire.Connected && e.Resumed {
		(*told)(e)
	}
	switch {
	case e.Kind == wire.Connected && !e.Resumed:
		st.sessions.add(e.Session)
		st.record.Record(&history.Session{At: e.At, Event: history.Opened, Client: e.Client, Session: e.Session, Timeout: e.Timeout})
	case e.Kind == wire.Connected && e.Lost > 0:
		st.record.Record(&history.Reconnected{At: e.At, Client: e.Client, Session: e.Session, Lost: e.Lost})
	case e.Kind == wire.Expired:
		st.record.Record(&history.Session{At: e.At, Event: history.Expired, Client: e.Client, Session: e.Session})
	case e.Kind == wire.Deadline:
		st.record.Record(&history.Session{At: e.At, Event: history.Deadline, Client: e.Client, Session: e.Session})
	case e.Kind == wire.ReplyLost:
		st.record.Record(&history.LostReply{At: e.At, Client: e.Client, Session: e.Session, Cxid: e.Request.Xid,
			Request: e.Request.Op.String(), Sent: e.Request.Sent})
	}
}

type attempt struct {
	c      *client
	giveUp context.CancelFunc
	done   chan struct{}
	claim  recipes.Claim
	err    error
	at     time.Duration // when it was granted or returned
	over   bool          // the client has released or given up
}

func (c *client) begin(ctx context.Context) *attempt {
	a, run := c.attempt(ctx)
	go run()
	return a
}

func (c *client) try(ctx context.Context) *attempt {
	a, run := c.attempt(ctx)
	run()
	return a
}

func (c *client) attempt(ctx context.Context) (a *attempt, run func()) {
	a = &attempt{c: c, done: make(chan struct{})}
	ctx, a.giveUp = context.WithCancel(ctx)
	return a, func() {
		defer close(a.done)
		defer a.giveUp()
		if c.st.queue() {
			_, a.err = c.take(ctx)
		} else {
			a.claim, a.err = c.acquire(ctx)
		}
		a.at = c.st.instant(a.claim.At)
	}
}

func (a *attempt) returned(ctx context.Context, limit time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(limit):
	case <-ctx.Done():
	}
	return false
}

func (a *attempt) ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (a *attempt) inDoubt() bool { return a.c.inDoubt(a.claim.Token) }

func (a *attempt) write(ctx context.Context) { a.c.write(ctx, a.claim) }

func (a *attempt) release(ctx context.Context) error {
	a.over = true
	if err := a.c.release(ctx, a.claim); err != nil {
		return fmt.Errorf("client %d: %w", a.c.n, err)
	}
	return nil
}

var errNoGrant = errors.New("nobody was granted")

// first acquires without competition. A client that is not granted in time, because a node was left
// behind, appears in a snapshot while it waits; then it gives up.
func (c *client) first(ctx context.Context) (*attempt, error) {
	limit := c.st.patience()
	a := c.begin(ctx)
	late := !a.returned(context.WithoutCancel(ctx), limit)
	if late {
		_ = c.st.snapshotStuck(ctx)
		c.st.waiting()
		a.giveUp()
		if !a.returned(context.WithoutCancel(ctx), limit) {
			c.close()
			return nil, fmt.Errorf("client %d: %w within %v, though no known client holds the lock", c.n, errNoGrant, limit)
		}
		if a.err != nil {
			a.err = fmt.Errorf("%w within %v, though no known client holds the lock", errNoGrant, limit)
		}
	}
	if a.err != nil {
		return nil, fmt.Errorf("client %d: %w", c.n, a.err)
	}
	return a, nil
}

type line struct {
	st      *stage
	granted chan *attempt // attempts that have returned, in order
	waiting sync.WaitGroup
	giveUp  context.CancelFunc
	calls   context.Context
}

func (st *stage) newLine(ctx context.Context) *line {
	l := &line{st: st, granted: make(chan *attempt, len(st.clients))}
	l.calls, l.giveUp = context.WithCancel(ctx)
	return l
}

func (l *line) leave() {
	l.st.waiting()
	l.giveUp()
	l.waiting.Wait()
}

// join makes all clients but one wait in line behind it. With comeBack, a waiter that loses its
// session joins the line again.
func (l *line) join(first *client, comeBack bool) {
	for _, c := range l.st.clients {
		if c == first {
			continue
		}
		l.waiting.Go(func() {
			a := c.try(l.calls)
			for comeBack && errors.Is(a.err, recipes.ErrSessionEnded) && c.reopen(l.calls) == nil {
				a = c.try(l.calls)
			}
			l.granted <- a
		})
	}
}

func (l *line) next(ctx context.Context) (*attempt, error) {
	limit := l.st.scenario.SessionTimeout + settleLimit
	select {
	case a := <-l.granted:
		if a.err != nil {
			return nil, fmt.Errorf("client %d: %w", a.c.n, a.err)
		}
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(limit):
		_ = l.st.snapshotStuck(ctx)
		return nil, fmt.Errorf("%w within %v of a release", errNoGrant, limit)
	}
}

// listenElsewhere prepares the trial's taps on the agents.
func (t *trial) listenElsewhere() (stop func(), err error) {
	st, r := t.stage, t.runner
	begun, err := r.fleet.Begin(agents.Options{
		Trial: t.name, Parent: st.parent, At: func(at time.Time) time.Duration { return st.clock.At(at) },
		Way: observer.WayTo(st.members.ensemble), Relay: relayed(r.relay, st.members.ensemble), Dial: st.members.ensemble.Security.Dial,
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

// RefuseAgents returns why the run cannot use agents; it is called before any agent is started.
func (c Config) RefuseAgents() error { return c.Scenario.CheckAgents() }
