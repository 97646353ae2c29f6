package scenarios

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// enough decides when a cell needs no more repetitions: its budget is spent, and its comparison
// with the base is decided or the extra time is used up too.
type enough struct {
	scenario  *Scenario
	start     time.Time                        // of the first trial
	undecided func(history.Cell) (bool, error) // whether further trials may decide what these do not
	decided   []history.Cell                   // cells that need no extra time
	log       func(format string, args ...any) // reports once that there is extra time
}

// of reports whether the group, which repeats a cell, can be left out.
func (e *enough) of(group []cell) (bool, error) {
	s, elapsed := e.scenario, time.Since(e.start)
	switch {
	case !s.spent(group, elapsed):
		return false, nil
	case elapsed > s.Budget+s.ExtraTime:
		return true, nil
	}
	c := group[0].recorded()
	if slices.ContainsFunc(e.decided, c.Beside) {
		return true, nil
	}
	open, err := e.undecided(c)
	switch {
	case err != nil:
		return false, err
	case !open:
		e.decided = append(e.decided, c)
		return true, nil
	case e.log != nil:
		e.log("inconclusive comparison with %s: up to %v more of trials", s.Base, s.ExtraTime)
		e.log = nil
	}
	return false, nil
}
