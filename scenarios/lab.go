package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
)

// Lab is what trials run in.
type Lab struct {
	Ensemble *ensembles.Ensemble
	Network  *chaos.Network // cuts members' networks; nil where nobody can
	RunID    string         // names our part of the tree
	Seed     uint64         // decides every random choice
	Dir      string         // the run folder; histories go to Dir/history, plans to Dir/plan
	Replay   string         // the run folder whose plans are played again; "" draws new ones
	Progress func(Status)   // told now and then how far things are; nil is allowed
	Course   *Course        // of all trials, to tell how long they will take; nil is allowed
}

// Run runs the trials of a batch, one after the other; those that are compared with a
// base take turns. before is how many trials of the scenario came before the batch,
// of all. It returns early when ctx is done or a history cannot be written; what was
// measured until then is in the run folder, healed and closed in order.
func (l *Lab) Run(ctx context.Context, s *Scenario, b Batch, before, all int) (err error) {
	if err := os.MkdirAll(filepath.Join(l.Dir, "history"), 0o755); err != nil {
		return err
	}
	plans, err := l.plans(b.Cells)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.clean()) }()
	if err := l.warm(ctx, s.Warmup); err != nil {
		return cause(ctx, err)
	}
	if len(s.Specimens) > 0 {
		return l.runZoo(ctx, b.Cells)
	}
	i, start := before, time.Now()
	for _, group := range groups(b.Cells, s.Base) {
		if s.spent(group, time.Since(start)) {
			i += len(group)
			continue
		}
		trials := l.beside(group, i, all)
		for k, t := range trials {
			t.plan = plans[i-before+k]
		}
		i += len(group)
		err := sideBySide(ctx, trials)
		for _, t := range trials {
			t.end()
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// beside prepares the trials of a group, which take turns; the first is the i-th of all.
func (l *Lab) beside(cells []Cell, i, all int) []*trial {
	var trials []*trial
	shared := &floor{}
	for k, cell := range cells {
		t := l.trial(cell, i+k)
		t.telling.floor = shared
		t.telling.status.Trials = all
		if len(cells) > 1 {
			s := &t.telling.status
			s.First, s.Last, s.Beside = i+1, i+len(cells), subjects(cells)
		}
		trials = append(trials, t)
	}
	return trials
}

// root is the node below which everything of this run's is.
func (l *Lab) root() string { return l.Ensemble.Chroot + "/zkbench-" + l.RunID }

// clean removes this run's part of the tree. The ensemble may be somebody else's, or
// be kept, and nothing of ours should stay.
func (l *Lab) clean() error {
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	s, err := recipes.Open(ctx, l.Ensemble.Servers(), recipes.Options{MaxPacket: 1 << 20})
	if err != nil {
		return fmt.Errorf("remove %s: %w", l.root(), err)
	}
	defer s.Close()
	return s.RemoveTree(ctx, l.root())
}

// trial prepares the cell, the i-th of its scenario.
func (l *Lab) trial(cell Cell, i int) *trial {
	s, name := cell.Scenario, cell.trialName()
	root := l.root() + "/" + name
	t := &trial{
		lab: l, scenario: s, cell: cell, name: name, root: root, parent: root + "/line",
		rng: rand.New(rand.NewPCG(l.Seed, uint64(i))), plan: draw(s, cell, name, l.Seed),
	}
	t.telling.floor = &floor{}
	t.telling.status = Status{Trial: i + 1, Subject: cell.Subject.Name, Clients: cell.Clients}
	return t
}

// trialName is the name of the cell's trial, unique in its run.
func (c Cell) trialName() string {
	start := c.Scenario.Name + "-" + strings.ReplaceAll(c.Subject.Name, "/", "-")
	switch {
	case c.Provocation != "":
		return start + "-" + c.Provocation
	case c.Trial > 0:
		return fmt.Sprintf("%s-%d%s-%d", start, c.Clients, c.suffix, c.Trial)
	}
	return fmt.Sprintf("%s-%d%s", start, c.Clients, c.suffix)
}

// params are the settings of a trial, for result.json and for thresholds. What the
// matrix varies is among them, under the name of its field: session_timeout, tick,
// drain.hold, drain.rounds; but a choice for all phases is one parameter.
func (t *trial) params() map[string]string {
	s := t.scenario
	p := map[string]string{"session_timeout": s.SessionTimeout.String()}
	if s.Tick > 0 {
		p["tick"] = s.Tick.String()
	}
	for _, phase := range s.Phases {
		p[phase.Name+".hold"] = phase.Hold.String()
	}
	t.cell.name(p)
	for k, v := range s.Params {
		p[k] = v
	}
	return p
}

// errBroken says that the history could not be written.
var errBroken = errors.New("the history cannot be written")

// settleLimit is how long a drain waits for wake-ups that the formula promises and
// that do not come, before it goes on without.
const settleLimit = 10 * time.Second
