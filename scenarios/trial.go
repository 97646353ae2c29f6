package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/site"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/agents"
	"github.com/zkbench/zkbench/scenarios/audit"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
	"golang.org/x/sync/errgroup"
)

type trial struct {
	runner *runner
	name   string
	plan   spec.Plan
	slot   *turnSlot // serializes trials that share the ensemble
	*stage.Stage

	sessions sync.Map // IDs of the sessions that the clients have opened so far

	earlierAttempts int  // number of earlier attempts
	look            int  // see repetitionPolicy.look
	incomplete      bool // the trial did not run to its end
}

var errBroken = errors.New("the history cannot be written")

// run runs the trial. It closes the trial's sessions and removes its subtree, even after an error.
func (t *trial) run(ctx context.Context) error {
	if err := stage.CatchPanic(func() error { return t.play(ctx) }); err != nil {
		return fmt.Errorf("trial %s: %w", t.name, err)
	}
	return nil
}

func (t *trial) play(ctx context.Context) (err error) {
	if err := t.slot.acquire(ctx); err != nil {
		return err
	}
	defer t.slot.leave()
	t.Clock = history.Start()
	failed := make(chan error, 1)
	closeTap, setUpErr := t.listen()
	defer closeTap()
	if setUpErr == nil {
		var stop func()
		stop, setUpErr = t.startSubjects(ctx, failed)
		defer stop()
	}
	t.Record, err = history.Create(report.HistoryPath(t.runner.Dir, t.name), t.header())
	if err != nil {
		return fmt.Errorf("%w: %w", errBroken, err)
	}
	defer func() { err = errors.Join(err, t.Record.Close()) }()
	ctx, t.End = context.WithCancelCause(ctx)
	defer t.End(nil)
	go func() {
		select {
		case <-t.Record.Broken():
			t.End(fmt.Errorf("%w: %w", errBroken, t.Record.Err()))
		case <-ctx.Done():
		}
	}()
	if setUpErr == nil {
		go t.watchEnsemble(ctx, t.End)
	}
	return t.runRecorded(ctx, func() error {
		if setUpErr != nil {
			return setUpErr
		}
		return t.runPhases(ctx, failed)
	})
}

// runRecorded creates the trial's subtree, calls play, and meanwhile records the load of members and zkbench.
func (t *trial) runRecorded(ctx context.Context, play func() error) (err error) {
	after, err := t.Members.LastZxid(ctx)
	if err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer func() { err = errors.Join(err, t.saveCommits(after)) }()
	go t.Tap.WatchDeadlines(ctx)
	watch := watchSelf(t.Record, selfLimits(t.Scenario.SessionTimeout))
	defer watch.stop(t.Clock.Now)
	defer func() { _ = t.Observer.Close() }() // the runner removes the remaining nodes, or reports an error
	if err := t.openTree(ctx); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	defer t.Tap.Close()
	defer t.recordPipe()
	defer t.CloseClients()
	return t.recordError(ctx, play())
}

func (t *trial) listen() (stop func(), err error) {
	r := t.runner
	if r.Agents != nil {
		remote, err := r.Agents.Begin(agents.Options{
			Trial: t.name, Parent: t.Parent, At: func(at time.Time) time.Duration { return t.Clock.At(at) },
			Upstream: observer.UpstreamOf(t.Members.Ensemble), Relay: relayed(r.Relay, t.Members.Ensemble),
			Event: t.recordSession, Lost: t.recordLostAgent,
		})
		if err != nil {
			t.Tap = wire.New(t.Clock.Now) // has no clients
			return func() {}, err
		}
		t.Tap = remote
		return remote.Close, nil
	}
	tap := wire.New(t.Clock.Now)
	tap.SetUpstream(observer.UpstreamOf(t.Members.Ensemble))
	tap.OnEvent(t.recordSession)
	tap.SetAdmit(observer.OwnProcesses(r.Logf))
	t.Tap = tap
	if known := t.Scenario.KnownMembers(); known != "" {
		hosts := ""
		if known == chaos.KnownByName {
			hosts = filepath.Join(t.runner.Dir, report.DriverDir, t.name+".hosts")
			if err = os.MkdirAll(filepath.Dir(hosts), 0o755); err != nil {
				return tap.Close, err
			}
		}
		t.Addresses, err = tap.NewAddresses(t.Members.Ensemble.Servers(), hosts)
	}
	return tap.Close, err
}

// startSubjects starts the processes of the subject and of its successors, if any. failed receives the first
// error after which the trial cannot be evaluated.
func (t *trial) startSubjects(ctx context.Context, failed chan<- error) (stop func(), err error) {
	if t.Cell.Subject, stop, err = t.startSubject(ctx, t.Cell.Subject, failed); err != nil {
		return stop, err
	}
	t.Successors = map[string]recipes.Subject{}
	for _, name := range t.Scenario.Successors() {
		next, err := t.Scenario.Find(name)
		if err != nil {
			return stop, err
		}
		next, stopNext, err := t.startSubject(ctx, next, failed)
		stopFirst := stop
		stop = func() { stopFirst(); stopNext() }
		if err == nil && next.Promises != t.Cell.Subject.Promises {
			err = fmt.Errorf("%s and %s promise different guarantees: their clients cannot be checked together", name, t.Cell.Subject.Name)
		}
		if err != nil {
			return stop, err
		}
		t.Successors[name] = next
	}
	return stop, nil
}

// startSubject starts a subject that runs in processes; it returns other subjects unchanged.
func (t *trial) startSubject(ctx context.Context, given recipes.Subject, failed chan<- error) (_ recipes.Subject, stop func(), err error) {
	if (t.Scenario.Apart || t.runner.Agents != nil) && given.Start == nil {
		given, err = t.runner.toDriver(given, t.Scenario.Apart)
	}
	if given.Start == nil || err != nil {
		return given, func() {}, err
	}
	t.Driven = true
	dir := filepath.Join(t.runner.Dir, report.DriverDir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return given, func() {}, err
	}
	subject, stop, err := given.Start(ctx, recipes.Trial{
		Clients: t.Cell.Clients, Stderr: filepath.Join(dir, t.name), Owner: state.Self().String(),
		NeedsOwnProcess: t.Cell.SeparateProcess(), Pool: t.runner.driverPool, Site: t.site(),
		Fail: func(err error) {
			select {
			case failed <- err:
			default: // keep only the first
			}
		},
	})
	if given.Open != nil { // compiled in: its promises are more precise than the promises that a driver reports
		open, pipe := subject.Open, subject.PipeLatency
		subject = given
		subject.Start, subject.PipeLatency = nil, pipe
		subject.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			env.Seen = nil // the recipe reports its own claim
			return open(ctx, env)
		}
	}
	return subject, stop, err
}

func (t *trial) runPhases(ctx context.Context, failed <-chan error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	go func() {
		select {
		case err := <-failed:
			fail(err)
		case <-ctx.Done():
		}
	}()
	if err := t.OpenClients(ctx); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	for i, p := range t.Scenario.Phases {
		t.Phase, t.Planned = p, t.plan.Phases[i]
		if err := t.runPhase(ctx, i); err != nil {
			return cmp.Or(context.Cause(ctx), fmt.Errorf("phase %s: %w", p.Name, err))
		}
	}
	return nil
}

// recordError records an error that prevents only this trial from running to its end, and returns nil.
// It returns errors that end the run: an interruption, a history that cannot be written, or an
// ensemble that does not serve.
func (t *trial) recordError(ctx context.Context, err error) error {
	if _, ok := errors.AsType[stage.PanicError](err); ok {
		why, _, _ := strings.Cut(err.Error(), "\n") // without the stack
		t.Record.Record(&history.TrialFailure{At: t.Clock.Now(), Why: why})
		t.runner.Logf("trial %s ended early: %v", t.name, err)
		return nil
	}
	switch {
	case errors.Is(err, stage.ErrUnhealthy):
		t.Record.Record(&history.TrialFailure{At: t.Clock.Now(), Why: err.Error()})
		return err
	case err == nil || errors.Is(err, errBroken):
		return err
	case ctx.Err() != nil:
		t.Record.Record(&history.TrialFailure{At: t.Clock.Now(), Why: "the trial was interrupted"})
		return err
	}
	if t.Members.IsManaged() {
		if unhealthy := stage.AwaitHealthy(ctx, t.Observer); unhealthy != nil {
			return cmp.Or(context.Cause(ctx), fmt.Errorf("%w: %w, after %w", stage.ErrUnhealthy, unhealthy, err))
		}
	}
	inapplicable := errors.Is(err, audit.ErrInapplicable)
	t.Record.Record(&history.TrialFailure{At: t.Clock.Now(), Why: err.Error(), Inapplicable: inapplicable})
	if t.incomplete = !inapplicable; t.incomplete {
		t.runner.Logf("trial %s could not be run: %v", t.name, err)
	}
	return nil
}

func (t *trial) header() history.Header {
	c := t.Cell
	s := c.Scenario
	return history.Header{
		Trial: t.name, Repetition: c.Trial, EarlierAttempts: t.earlierAttempts, Look: t.look, Seed: t.runner.Seed,
		Cell:   c.Recorded(),
		Recipe: string(c.Subject.Recipe), Permits: c.Permits(), Paths: s.Paths, Variant: string(c.Subject.Variant), Promises: promises(c.Subject),
		Thresholds: s.Thresholds, Formulas: c.Subject.Formulas.Text, Expect: c.ExpectedViolations,
	}
}

func promises(s recipes.Subject) history.Promises {
	p := s.Promises
	return history.Promises{
		Exclusive: p.Exclusive, FIFO: p.FIFO, Delivery: string(p.Delivery), Writers: p.Writers || p.FIFO && s.Recipe == recipes.RecipeRWLock, Requeues: p.Requeues, Deadline: p.Deadline, Events: p.Events,
	}
}

func (t *trial) runPhase(ctx context.Context, i int) (err error) {
	p, k := t.Phase, spec.KindNamed(t.Phase.Kind)
	if err := k.CheckSupports(t.Cell.Subject); err != nil {
		return err
	}
	t.Round = 0
	t.StoppedAt.Store(0)
	t.Record.Record(&history.PhaseStart{At: t.Clock.Now(), Name: p.Name, Index: i, Kind: p.Kind, Pace: k.Pace, Contenders: p.Contenders, Params: p.Params()})
	defer func() {
		t.RecordPending()
		t.Record.Record(&history.PhaseEnd{At: t.Clock.Now(), Name: p.Name, Index: i, Stopped: time.Duration(t.StoppedAt.Load())})
	}()
	if i > 0 {
		if err := t.RenewIfRequeues(ctx); err != nil {
			return err
		}
	}
	leave, err := t.Enter(ctx, k)
	defer leave()
	if err != nil {
		return err
	}
	if err := t.PrepareFaults(ctx); err != nil {
		return err
	}
	defer func() {
		t.Events.Store(nil)
		err = errors.Join(err, t.Faults.Close())
	}()
	before := t.States()
	defer func() { t.RecordEfforts(before) }()
	return t.RunKind(ctx)
}

// relayed reports whether agents reach the members through this process: on request, or if
// connections need certificates, which only this process has.
func relayed(asked bool, e *ensembles.Ensemble) bool { return asked || e.Security.TLS != nil }

func (t *trial) site() func(client int) (site.Site, error) {
	if remote, isRemote := t.Tap.(*agents.Trial); isRemote {
		return remote.Site
	}
	if a := t.Addresses; a != nil {
		return func(int) (site.Site, error) { return site.Here{Hosts: a.Hosts}, nil }
	}
	return nil
}

func (t *trial) openTree(ctx context.Context) error {
	var g errgroup.Group
	g.SetLimit(stage.OpensAtOnce)
	for i, fence := range t.Fences {
		g.Go(func() error { return errors.Join(t.Observer.Open(ctx, t.PathParent(i)), fence.Open(ctx)) })
	}
	if err := g.Wait(); err != nil || !t.Driven {
		return err
	}
	return t.Observer.Open(ctx, t.Resource())
}
