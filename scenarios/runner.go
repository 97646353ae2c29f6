package scenarios

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
	"golang.org/x/sync/errgroup"
)

type runner struct {
	Config
	ensemble   *ensembles.Ensemble
	network    *network.Network // cuts members' networks; nil if not available
	id         string
	driverPool *host.Pool    // shared by trials; nil if each starts its own
	start      time.Time     // of the run; zero if the number of trials is unknown
	budget     time.Duration // of all batches; 0 if there is no limit
}

// run runs the trials of a batch one after the other; trials that are compared with a base take
// turns. before is the number of earlier trials of the scenario, all the number of all trials. It returns
// early when ctx is done, a history cannot be written, or a member of the ensemble does not serve; all
// faults are then healed. A trial that cannot run records the reason in its history.
func (r *runner) run(ctx context.Context, s *spec.Scenario, b spec.Batch, before, all int) (err error) {
	if err := os.MkdirAll(filepath.Join(r.Dir, report.HistoryDir), 0o755); err != nil {
		return err
	}
	// The ensemble may be external or persistent: all nodes of the run must be removed.
	defer func() { err = errors.Join(err, observer.NewObserver(r.ensemble, sweepTimeout, r.root()).Close()) }()
	if err := r.warm(ctx, s.Warmup); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	if len(s.Specimens) > 0 {
		return r.runConcurrently(ctx, b.Cells, concurrency{all: len(b.Cells), atOnce: zooAtOnce, tries: 2})
	}
	if s.AuditPhase() != nil {
		return r.audit(ctx, s, b.Cells)
	}
	plans, err := spec.MakePlans(b.Cells, r.Seed, r.Dir)
	if err != nil {
		return err
	}
	undecided := func(c history.Cell) (bool, error) {
		so, err := report.Judge(r.Dir)
		return so.Result.Undecided(c), err
	}
	policy := repetitionPolicy{scenario: s, start: time.Now(), undecided: undecided, log: r.Logf}
	first := 0
	for _, group := range groups(b.Cells, s.Base) {
		i := first
		first += len(group)
		if skip, err := policy.canSkip(group); skip || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		trials := r.newTrials(group, plans[i:], before+i, all)
		for _, t := range trials {
			t.look = policy.look(group)
		}
		err := runAlternating(ctx, trials)
		for _, t := range trials {
			t.ReportEnd()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// sweepTimeout is the timeout of the session that removes the run's subtree.
const sweepTimeout = 10 * time.Second

// zooAtOnce is the number of trials of a zoo that run in parallel. Each has its own subtree, sessions and
// tap, and mostly waits. Latencies are not evaluated.
const zooAtOnce = 6

// driversAtOnce returns the number of trials of drivers that run in parallel. Their processes mostly wait, and
// later trials reuse them. The limit bounds the memory of JVMs.
func driversAtOnce() int { return min(4*max(2, runtime.NumCPU()), episodesAtOnce) }

type concurrency struct {
	before, all int          // number of trials before these, and of all trials
	atOnce      int          // how many run in parallel
	tries       int          // maximum number of attempts at a trial that cannot run; 0 means 1
	prepare     func(*trial) // called before each trial; may be nil
}

// runConcurrently runs cells in parallel. After an error that ends the run, no further cell begins.
func (r *runner) runConcurrently(ctx context.Context, cells []spec.Cell, b concurrency) error {
	plans, err := spec.MakePlans(cells, r.Seed, r.Dir)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(b.atOnce)
	programs := make(chan struct{}, driversAtOnce())
	for i, c := range cells {
		g.Go(func() error {
			if c.HasDriver() {
				programs <- struct{}{}
				defer func() { <-programs }()
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return r.runWithRetries(ctx, b, func() *trial { return r.newTrial(c, plans[i], b.before+i, b.all, newTurns(1)[0]) })
		})
	}
	return g.Wait()
}

// runWithRetries runs a trial, and repeats it, within limits, if it could not run or its fault was missed.
func (r *runner) runWithRetries(ctx context.Context, b concurrency, begin func() *trial) error {
	begun := time.Now()
	for n := 1; ; n++ {
		t := begin()
		t.earlierAttempts, t.Members.SharedMembers = n-1, true
		if b.prepare != nil {
			b.prepare(t)
		}
		err := t.run(ctx)
		t.ReportEnd()
		if n >= b.tries || time.Since(begun) > triesLimit || ctx.Err() != nil || err == nil && !t.incomplete && !t.missed() {
			return err
		}
		if again, err := r.prepareRetry(t.name); !again {
			return err
		}
	}
}

// triesLimit is the time after the begin of the first attempt within which a trial may be repeated: long enough for a
// second attempt on a slow machine.
const triesLimit = time.Minute

// missed reports whether the only fault of a cell was not injected, so that the cell tested nothing.
func (t *trial) missed() bool {
	c := t.Cell
	return (len(c.Injections) == 1 || len(c.ExpectedViolations) > 0) && t.Missed.Load()
}

// prepareRetry removes a trial's records for its repetition; it returns false if the trial has broken a guarantee.
func (r *runner) prepareRetry(trial string) (bool, error) {
	path := report.HistoryPath(r.Dir, trial)
	if hasFailedVerdict(path) {
		return false, nil
	}
	err := os.Remove(path)
	if commits := os.Remove(history.CommitsPath(path)); !errors.Is(commits, os.ErrNotExist) {
		err = errors.Join(err, commits)
	}
	return err == nil, err
}

func hasFailedVerdict(path string) bool {
	h, err := history.Open(path)
	return err == nil && slices.ContainsFunc(report.EvaluateHistory(h).Trial.Verdicts, func(v report.Verdict) bool { return v.Result == report.Fail })
}

// newTrials creates the trials of a group, which take turns. i is the index of the first among all trials.
func (r *runner) newTrials(cells []spec.Cell, plans []spec.Plan, i, all int) (trials []*trial) {
	subjects := strings.Join(units.Names(cells, func(c spec.Cell) string { return c.Subject.Name }), " beside ")
	for k, slot := range newTurns(len(cells)) {
		t := r.newTrial(cells[k], plans[k], i+k, all, slot)
		if len(cells) > 1 {
			s := &t.Status.Status
			s.First, s.Last, s.Beside = i+1, i+len(cells), subjects
		}
		trials = append(trials, t)
	}
	return trials
}

func (r *runner) newTrial(c spec.Cell, p spec.Plan, i, all int, slot *turnSlot) *trial {
	name := c.TrialName()
	root := r.root() + "/" + name
	o := observer.NewObserver(r.ensemble, c.Scenario.SessionTimeout, root)
	var fences []*observer.Fence
	for i := range c.Scenario.PathCount() {
		fences = append(fences, &observer.Fence{Observer: o, Path: root + "/resource-" + strconv.Itoa(i)})
	}
	return &trial{runner: r, name: name, plan: p, slot: slot, Stage: &stage.Stage{
		Scenario: c.Scenario, Cell: c, Parent: root + "/line",
		Members:  stage.Members{Ensemble: r.ensemble, Network: r.network},
		Observer: o, Fences: fences, Holder: stage.NewHolder(), Yield: slot.yield,
		Status: &stage.Reporter{Send: r.Progress, End: r.estimateEnd(i, all),
			Status: stage.Status{Trial: i + 1, Trials: all, Subject: c.Subject.Name, Clients: c.Clients}},
	}}
}

func (r *runner) root() string { return r.ensemble.Chroot + "/zkbench-" + r.id }

// estimateEnd estimates the end of the run from the mean time of the first n trials; zero if unknown.
func (r *runner) estimateEnd(n, all int) time.Time {
	if n == 0 || r.start.IsZero() {
		return time.Time{}
	}
	each := time.Since(r.start) / time.Duration(n)
	end := each * time.Duration(all)
	if r.budget > 0 {
		end = min(end, r.budget+each)
	}
	return r.start.Add(end)
}
