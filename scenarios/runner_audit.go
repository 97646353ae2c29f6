package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// episodesAtOnce is how many episodes run at the same time. They mostly wait; nothing is
// timed.
const episodesAtOnce = 16

// audit plays the cells that were named, or else watches calm episodes, and then plays
// every step that came with every fault that fits it.
func (r *runner) audit(ctx context.Context, s *Scenario, named []cell) error {
	r.estimate = nil // how much there is to play is not known before
	r.kept = &recipes.Kept{}
	defer r.kept.Close()
	watches := map[string]*stepWatch{}
	for _, c := range named {
		if watches[c.Subject.Name] == nil && len(s.audit().Cells) == 0 {
			watches[c.Subject.Name] = &stepWatch{}
		}
	}
	played := 0
	play := func(cells []cell, until time.Time) error {
		cells, alone := split(cells, cell.alone)
		cells, counted := split(cells, cell.counted)
		first := played
		played += len(cells) + len(alone) + len(counted)
		b := besides{before: first, all: played, atOnce: episodesAtOnce, tries: 2, until: until}
		b.prepare = func(t *trial) { t.stage.watch = watches[t.stage.cell.Subject.Name] }
		err := r.beside(ctx, cells, b)
		b.before += len(cells)
		drivers, others := split(alone, func(c cell) bool { return !c.driven() })
		for few := range slices.Chunk(drivers, driversAtOnce()) {
			if err == nil {
				err = r.together(ctx, few, b.before, played)
			}
			b.before += len(few)
		}
		if err == nil {
			err = r.together(ctx, others, b.before, played)
		}
		b.before += len(others)
		if err == nil {
			b.atOnce, b.prepare = 1, func(t *trial) { t.stage.members.shared = false }
			err = r.beside(ctx, counted, b)
		}
		return err
	}
	calm := play(named, time.Time{})
	var cells []cell
	for _, name := range s.Subjects {
		w := watches[name]
		switch {
		case w == nil: // its cells were named
		case len(w.steps) == 0:
			calm = errors.Join(calm, fmt.Errorf("%s: %w", name, errNoSteps))
		default:
			subject, _ := s.find(name) // has been found before
			if s.Apart && subject.Start == nil {
				subject, _ = r.apart(subject) // has been started before
			}
			more, err := s.stepCells(subject, w)
			if err != nil {
				return err
			}
			cells = append(cells, more...)
		}
	}
	until := time.Time{}
	if p := s.audit(); p.Depth > 1 {
		var err error
		if cells, err = s.pairCells(cells, r.seed); err != nil {
			return err
		}
		until = time.Now().Add(p.Duration)
	}
	return errors.Join(calm, play(cells, until))
}

var errNoSteps = errors.New("no calm episode came to its end: there are no steps to strike at")

// split parts cells into those for which is is false, and the others.
func split(cells []cell, is func(cell) bool) (others, those []cell) {
	return slices.DeleteFunc(slices.Clone(cells), is), slices.DeleteFunc(slices.Clone(cells), func(c cell) bool { return !is(c) })
}
