package scenarios

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// repetitions decides when a cell needs no more repetitions: its budget is spent, and its comparison
// with the base is decided or the extra time is used up too.
type repetitions struct {
	scenario  *Scenario
	start     time.Time                        // of the first trial
	undecided func(history.Cell) (bool, error) // whether further trials may decide the comparison
	compared  []comparedCell
	log       func(format string, args ...any) // reports once that there is extra time
}

// comparedCell is a cell whose comparison was evaluated.
type comparedCell struct {
	history.Cell
	looks   int // number of evaluations
	next    int // number of pairs from which the comparison is evaluated again
	decided bool
}

// firstLook is the number of pairs of the first evaluation: with fewer there is no interval.
const firstLook = 8

// of reports whether the group, which repeats a cell, can be omitted.
//
// Each evaluation of the comparison is a look at the data. The confidence level of a look depends on
// its number (stats.Look), so a comparison is evaluated first with firstLook pairs, and again only
// when there are half as many more.
func (e *repetitions) of(group []cell) (bool, error) {
	s, elapsed := e.scenario, time.Since(e.start)
	switch {
	case !s.spent(group, elapsed):
		return false, nil
	case elapsed > s.Budget+s.ExtraTime:
		return true, nil
	}
	c := e.cell(group)
	pairs := group[0].Trial - 1
	if c.decided || pairs < max(firstLook, c.next) {
		return c.decided, nil
	}
	open, err := e.undecided(c.Cell)
	if err != nil {
		return false, err
	}
	c.looks++
	c.next = pairs * 3 / 2
	c.decided = !open
	if open && e.log != nil {
		e.log("inconclusive comparison with %s: up to %v more of trials", s.Base, s.ExtraTime)
		e.log = nil
	}
	return c.decided, nil
}

// look returns the number of the look that follows the trials of the group; 0 if the comparison is
// evaluated only once.
func (e *repetitions) look(group []cell) int {
	if e.scenario.ExtraTime == 0 {
		return 0
	}
	return e.cell(group).looks + 1
}

func (e *repetitions) cell(group []cell) *comparedCell {
	c := group[0].recorded()
	i := slices.IndexFunc(e.compared, func(x comparedCell) bool { return x.EqualExceptSubject(c) })
	if i < 0 {
		e.compared, i = append(e.compared, comparedCell{Cell: c}), len(e.compared)
	}
	return &e.compared[i]
}
