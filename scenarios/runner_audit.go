package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// episodesAtOnce is the number of episodes that run in parallel. They mostly wait; nothing is
// timed.
const episodesAtOnce = 16

// auditTries bounds the attempts at a cell whose fault could not be aimed or proven.
const auditTries = 3

type auditing struct {
	*runner
	scenario *Scenario
	watches  map[string]*stepWatch // steps of the calm episodes, by subject
	played   int
}

// audit runs the named cells; or else calm episodes, and then every step that occurred with every
// fault that applies to it.
func (r *runner) audit(ctx context.Context, s *Scenario, named []cell) error {
	r.estimate = nil // the number of cells is not known before
	r.kept = &recipes.TrialResources{}
	defer r.kept.Close()
	a := &auditing{runner: r, scenario: s, watches: map[string]*stepWatch{}}
	if len(s.audit().Cells) == 0 {
		for _, c := range named {
			a.watches[c.Subject.Name] = &stepWatch{}
		}
	}
	calm := a.play(ctx, named, time.Time{})
	var cells []cell
	for _, name := range s.Subjects {
		more, err := a.cellsOf(name)
		if err != nil && !errors.Is(err, errNoSteps) {
			return err
		}
		calm, cells = errors.Join(calm, err), append(cells, more...)
	}
	until := time.Time{}
	if p := s.audit(); p.Depth > 1 {
		var err error
		if cells, err = s.pairCells(cells, r.seed); err != nil {
			return err
		}
		until = time.Now().Add(p.Duration)
	}
	return errors.Join(calm, a.play(ctx, cells, until))
}

// play runs cells in parallel, but for cells that need the members alone and cells whose requests
// the members count.
func (a *auditing) play(ctx context.Context, cells []cell, until time.Time) error {
	first := a.played
	a.played += len(cells)
	cells, counted := split(cells, cell.counted)
	cells, alone := split(cells, cell.alone)
	b := concurrency{before: first, all: a.played, atOnce: episodesAtOnce, tries: auditTries, until: until}
	b.prepare = func(t *trial) { t.stage.watch = a.watches[t.stage.cell.Subject.Name] }
	err := a.runConcurrently(ctx, cells, b)
	b.before += len(cells)
	for _, group := range sharedGroups(alone) {
		if err == nil {
			err = a.runShared(ctx, group, b.before, b.all)
		}
		b.before += len(group)
	}
	if err == nil {
		b.atOnce, b.prepare = 1, func(t *trial) { t.stage.members.shared = false }
		err = a.runConcurrently(ctx, counted, b)
	}
	return err
}

// sharedGroups returns groups of cells that share one fault of members. Trials of drivers are few at
// a time.
func sharedGroups(cells []cell) (groups [][]cell) {
	for _, f := range stepFaults {
		if f.alone == nil {
			continue
		}
		ours, drivers := split(slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return c.memberFault() != f.alone }), cell.driven)
		groups = append(groups, slices.Collect(slices.Chunk(drivers, driversAtOnce()))...)
		atOnce := max(1, len(ours))
		if f.alone.target != "" { // all reconnect at the same time
			atOnce = driversAtOnce()
		}
		groups = append(groups, slices.Collect(slices.Chunk(ours, atOnce))...)
	}
	return groups
}

// memberFault returns the fault of members of the cell, or nil.
func (c cell) memberFault() *memberFault {
	for _, a := range c.aims {
		if a.fault.alone != nil {
			return a.fault.alone
		}
	}
	return nil
}

// cellsOf returns the cells of the steps that a subject's calm episodes showed; none if cells were
// named.
func (a *auditing) cellsOf(subject string) ([]cell, error) {
	w := a.watches[subject]
	switch {
	case w == nil:
		return nil, nil
	case len(w.steps) == 0:
		return nil, fmt.Errorf("%s: %w", subject, errNoSteps)
	}
	s, _ := a.scenario.find(subject)
	if a.scenario.Apart && s.Start == nil {
		s, _ = a.apart(s)
	}
	s.Tries, s.Variant = w.tries, w.variant
	return a.scenario.stepCells(s, w)
}

var errNoSteps = errors.New("no calm episode came to its end: there are no steps to strike at")

// split returns the cells for which is is false, and the others.
func split(cells []cell, is func(cell) bool) (others, those []cell) {
	return slices.DeleteFunc(slices.Clone(cells), is), slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !is(c) })
}
