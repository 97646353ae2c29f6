package scenarios

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
	"golang.org/x/sync/errgroup"
)

// repetitionPolicy decides when a cell needs no more repetitions: when the budget is spent and either the
// comparison with the base is decided or the extra time is spent as well.
type repetitionPolicy struct {
	scenario  *spec.Scenario
	start     time.Time                        // of the first trial
	undecided func(history.Cell) (bool, error) // reports whether the comparison needs further trials
	compared  []comparedCell
	log       func(format string, args ...any) // logs the start of the extra time once
}

type comparedCell struct {
	history.Cell
	looks    int // number of evaluations
	nextLook int // number of pairs from which the comparison is evaluated again
	decided  bool
}

// firstLook is the number of pairs at the first evaluation: fewer give no confidence interval.
const firstLook = 8

// canSkip reports whether the group, a repetition of a cell, can be omitted.
//
// Each evaluation of the comparison is a look at the data. The confidence level of a look depends on
// its number (stats.Look), so a comparison is evaluated first with firstLook pairs, and again only
// when there are half as many more.
func (e *repetitionPolicy) canSkip(group []spec.Cell) (bool, error) {
	s, elapsed := e.scenario, time.Since(e.start)
	switch {
	case !s.BudgetSpent(group, elapsed):
		return false, nil
	case elapsed > s.Budget+s.ExtraTime:
		return true, nil
	}
	c := e.cell(group)
	pairs := group[0].Trial - 1
	if c.decided || pairs < max(firstLook, c.nextLook) {
		return c.decided, nil
	}
	open, err := e.undecided(c.Cell)
	if err != nil {
		return false, err
	}
	c.looks++
	c.nextLook = pairs * 3 / 2
	c.decided = !open
	if open && e.log != nil {
		e.log("the comparison with %s is inconclusive: running more trials for up to %v", s.Base, s.ExtraTime)
		e.log = nil
	}
	return c.decided, nil
}

// look returns the number of the next evaluation after the group; 0 if there is only one evaluation.
func (e *repetitionPolicy) look(group []spec.Cell) int {
	if e.scenario.ExtraTime == 0 {
		return 0
	}
	return e.cell(group).looks + 1
}

func (e *repetitionPolicy) cell(group []spec.Cell) *comparedCell {
	c := group[0].Recorded()
	i := slices.IndexFunc(e.compared, func(x comparedCell) bool { return x.EqualExceptSubject(c) })
	if i < 0 {
		e.compared, i = append(e.compared, comparedCell{Cell: c}), len(e.compared)
	}
	return &e.compared[i]
}

// turns lets compared trials alternate, one at a time: between two rounds of a drain, a trial yields
// to the next. Successive rounds are only milliseconds apart, so that other load of the machine
// affects all trials equally; between trials that run one after the other, that load may change.
type turns struct {
	mu    sync.Mutex
	queue []*turnSlot // the first one has the turn
}

type turnSlot struct {
	turns *turns
	turn  chan struct{} // receives a value when the turn begins
}

// newTurns returns the slots of n trials; the first has the turn.
func newTurns(n int) []*turnSlot {
	t := &turns{}
	for range n {
		t.queue = append(t.queue, &turnSlot{turns: t, turn: make(chan struct{}, 1)})
	}
	t.wake()
	return slices.Clone(t.queue)
}

func (t *turns) wake() {
	if len(t.queue) > 0 {
		t.queue[0].turn <- struct{}{}
	}
}

func (s *turnSlot) acquire(ctx context.Context) error {
	if ctx.Err() != nil { // the turn may have come at the same time
		return context.Cause(ctx)
	}
	select {
	case <-s.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// yield lets the other trials run, and returns when it is this trial's turn again.
func (s *turnSlot) yield(ctx context.Context) error {
	s.release(true)
	return s.acquire(ctx)
}

func (s *turnSlot) leave() { s.release(false) }

// release removes the slot, or moves it to the end if stays is set. If the slot had the turn, the next slot gets it.
func (s *turnSlot) release(stays bool) {
	t := s.turns
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.queue, s)
	t.queue = slices.Delete(t.queue, i, i+1)
	if stays {
		t.queue = append(t.queue, s)
	}
	if i == 0 {
		t.wake()
	}
}

// runAlternating runs compared trials in alternation. The first error ends all of them.
func runAlternating(ctx context.Context, trials []*trial) error {
	g, ctx := errgroup.WithContext(ctx)
	for _, t := range trials {
		g.Go(func() error { return t.run(ctx) })
	}
	return g.Wait()
}

// groups returns the groups that alternate: with a base, the subjects of one repetition; else single cells.
func groups(cells []spec.Cell, base string) [][]spec.Cell {
	var out [][]spec.Cell
	for i, c := range cells {
		if base != "" && i > 0 && c.Trial > 0 && c.Trial == cells[i-1].Trial && c.Clients == cells[i-1].Clients {
			out[len(out)-1] = append(out[len(out)-1], c)
			continue
		}
		out = append(out, []spec.Cell{c})
	}
	return out
}
