package scenarios

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// enough decides when a cell has been repeated often enough: its budget is spent, and what is
// asked of it beside the base is decided, or its extra time is over as well.
type enough struct {
	scenario  *Scenario
	start     time.Time                        // of the first trial
	undecided func(history.Cell) (bool, error) // whether more trials may tell what these do not
	decided   []history.Cell                   // cells that need no extra time
	log       func(format string, args ...any) // says once that there is extra time
}

// of says whether the group, which repeats a cell, is left out.
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
		e.log("nobody can tell yet how it compares with %s: trials go on for %v more at most", s.Base, s.ExtraTime)
		e.log = nil
	}
	return false, nil
}
