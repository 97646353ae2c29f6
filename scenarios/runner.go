package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
)

// runner plays trials on an ensemble.
type runner struct {
	ensemble *ensembles.Ensemble
	network  *chaos.Network // cuts members' networks; nil where nobody can
	id       string         // names our part of the tree
	seed     uint64         // decides every random choice
	dir      string         // the run folder; histories go to dir/history, plans to dir/plan
	replay   string         // the run folder whose plans are played again; "" draws new ones
	progress func(Status)   // nil is allowed
	estimate *estimate      // of all trials of the run; nil is allowed
}

// run runs the trials of a batch, one after the other; those that are compared with a
// base take turns. before is how many trials of the scenario came before the batch,
// of all. It returns early when ctx is done or a history cannot be written; what was
// measured until then is in the run folder, healed and closed in order.
func (r *runner) run(ctx context.Context, s *Scenario, b batch, before, all int) (err error) {
	if err := os.MkdirAll(filepath.Join(r.dir, report.HistoryDir), 0o755); err != nil {
		return err
	}
	plans, err := makePlans(b.cells, r.seed, r.replay, r.dir)
	if err != nil {
		return err
	}
	// The ensemble may be somebody else's, or be kept: nothing of ours should stay.
	defer func() { err = errors.Join(err, newObserver(r.ensemble, sweepTimeout, r.root()).close()) }()
	if err := r.warm(ctx, s.Warmup); err != nil {
		return reason(ctx, err)
	}
	if len(s.Specimens) > 0 {
		return r.runZoo(ctx, b.cells, plans)
	}
	i, start := 0, time.Now()
	for _, group := range groups(b.cells, s.Base) {
		next := i + len(group)
		if !s.spent(group, time.Since(start)) {
			trials := r.group(group, plans[i:next], before+i, all)
			err := sideBySide(ctx, trials)
			for _, t := range trials {
				t.stage.reportEnd()
			}
			if err != nil {
				return err
			}
		}
		i = next
	}
	return nil
}

// sweepTimeout is that of the session with which a run removes its part of the tree.
const sweepTimeout = 10 * time.Second

// zooAtOnce is how many trials of a zoo run at the same time. Each has a part of the
// tree, sessions and a tap of its own, and mostly waits; nothing is timed.
const zooAtOnce = 6

// runZoo runs the cells of a zoo beside each other. A trial that fails does not stop
// the others: its history is judged as far as it goes, and the error is returned.
func (r *runner) runZoo(ctx context.Context, cells []cell, plans []plan) error {
	var g errgroup.Group
	g.SetLimit(zooAtOnce)
	errs := make([]error, len(cells))
	for i, c := range cells {
		g.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			t := r.trial(c, plans[i], i, len(cells), newTurns(1)[0])
			t.stage.members.shared = true
			defer t.stage.reportEnd()
			if err := t.run(ctx); err != nil {
				errs[i] = fmt.Errorf("trial %s: %w", t.name, err)
			}
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return errors.Join(errs...)
}

// group prepares the trials of a group, which take turns; the first is the i-th of all.
func (r *runner) group(cells []cell, plans []plan, i, all int) []*trial {
	var trials []*trial
	for k, seat := range newTurns(len(cells)) {
		t := r.trial(cells[k], plans[k], i+k, all, seat)
		if len(cells) > 1 {
			s := &t.stage.status.status
			s.First, s.Last, s.Beside = i+1, i+len(cells), subjects(cells)
		}
		trials = append(trials, t)
	}
	return trials
}

// trial prepares the cell, the i-th of all.
func (r *runner) trial(c cell, p plan, i, all int, seat *seat) *trial {
	name := c.trialName()
	root := r.root() + "/" + name
	observer := newObserver(r.ensemble, c.Scenario.SessionTimeout, root)
	return &trial{runner: r, name: name, plan: p, seat: seat, stage: &stage{
		scenario: c.Scenario, cell: c, parent: root + "/line",
		members:  members{ensemble: r.ensemble, network: r.network},
		observer: observer, fence: &fence{observer: observer, path: root + "/resource"}, holder: newHolder(), yield: seat.yield,
		status: &reporter{send: r.progress, estimate: r.estimate, turns: &seat.turns.clock,
			status: Status{Trial: i + 1, Trials: all, Subject: c.Subject.Name, Clients: c.Clients}},
	}}
}

// root is the node below which everything of this run is.
func (r *runner) root() string { return r.ensemble.Chroot + "/zkbench-" + r.id }
