package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// The cells of an audit are episodes. Calm episodes run first, and their steps are recorded. Each step is then
// tested with each fault that applies to it.

// episodesAtOnce is the number of parallel episodes, which mostly wait. Latencies are not evaluated.
const episodesAtOnce = 16

// auditTries bounds the attempts at a cell whose fault could not be injected or proven.
const auditTries = 3

type auditRun struct {
	*runner
	scenario *spec.Scenario
	watches  map[string]*spec.StepWatch // steps of the calm episodes, by subject
	numbered int                        // cells that have a number
}

// audit runs the named cells. If none are named, it runs calm episodes, and then every observed step
// with every fault that applies to it.
func (r *runner) audit(ctx context.Context, s *spec.Scenario, named []spec.Cell) error {
	r.start = time.Time{} // the number of cells is unknown until the calm episodes end
	r.driverPool = &host.Pool{}
	defer r.driverPool.Close()
	a := &auditRun{runner: r, scenario: s, watches: map[string]*spec.StepWatch{}}
	if len(s.AuditPhase().Cells) == 0 {
		for _, c := range named {
			a.watches[c.Subject.Name] = &spec.StepWatch{Also: s.AuditPhase().Also}
		}
	}
	calm := a.runCells(ctx, named)
	var cells []spec.Cell
	for _, name := range s.Subjects {
		more, err := a.observedCells(name)
		if err != nil && !errors.Is(err, errNoSteps) {
			return err
		}
		calm, cells = errors.Join(calm, err), append(cells, more...)
	}
	return errors.Join(calm, a.runCells(ctx, cells))
}

// runCells runs cells in parallel, except cells whose faults affect members or whose requests members count.
func (a *auditRun) runCells(ctx context.Context, cells []spec.Cell) error {
	first := a.numbered
	a.numbered += len(cells)
	cells, counted := partition(cells, spec.Cell.UsesCounters)
	cells, memberCells := partition(cells, spec.Cell.AffectsMembers)
	b := concurrency{before: first, all: a.numbered, atOnce: episodesAtOnce, tries: auditTries}
	b.prepare = func(t *trial) { t.Watch = a.watches[t.Cell.Subject.Name] }
	err := a.runConcurrently(ctx, cells, b)
	b.before += len(cells)
	for _, group := range sharedGroups(memberCells) {
		if err == nil {
			err = a.runShared(ctx, group, b.before, b.all)
		}
		b.before += len(group)
	}
	if err == nil {
		b.atOnce, b.prepare = 1, func(t *trial) { t.Members.SharedMembers = false }
		err = a.runConcurrently(ctx, counted, b)
	}
	return err
}

// sharedGroups groups cells that share a fault of members, each with at most driversAtOnce drivers' cells.
func sharedGroups(cells []spec.Cell) (groups [][]spec.Cell) {
	for _, f := range spec.StepFaults {
		if f.MemberFault == nil {
			continue
		}
		ours, drivers := partition(slices.DeleteFunc(slices.Clone(cells), func(c spec.Cell) bool { return c.MemberFault() != f.MemberFault }), spec.Cell.HasDriver)
		groups = append(groups, slices.Collect(slices.Chunk(drivers, driversAtOnce()))...)
		atOnce := max(1, len(ours))
		if f.MemberFault.Target != "" { // all clients reconnect at the same time
			atOnce = driversAtOnce()
		}
		groups = append(groups, slices.Collect(slices.Chunk(ours, atOnce))...)
	}
	return groups
}

// observedCells returns the cells of the steps observed in a subject's calm episodes; none if cells were named.
func (a *auditRun) observedCells(subject string) ([]spec.Cell, error) {
	w := a.watches[subject]
	switch {
	case w == nil:
		return nil, nil
	case len(w.Steps) == 0:
		return nil, fmt.Errorf("%s: %w", subject, errNoSteps)
	}
	s, _ := a.scenario.Find(subject)
	if a.scenario.Apart && s.Start == nil {
		s, _ = a.inSeparateProcess(s)
	}
	s.SupportsLimit, s.Variant = w.Subject.SupportsLimit, w.Subject.Variant
	return a.scenario.StepCells(s, w)
}

var errNoSteps = errors.New("no fault-free episode was completed, so no steps were observed")

func partition(cells []spec.Cell, is func(spec.Cell) bool) (others, those []spec.Cell) {
	return slices.DeleteFunc(slices.Clone(cells), is), slices.DeleteFunc(slices.Clone(cells), func(c spec.Cell) bool { return !is(c) })
}
