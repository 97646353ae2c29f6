package scenarios

import (
	"slices"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// interleave repeats a row of cells, which differ only in their subject, n times:
// A B, then B A, then A B again. Whatever the machine's weather does, it does to
// neighbours alike, and a drift that goes on favours nobody. Once or less leaves
// the row as it is.
func interleave(row []Cell, n int) []Cell {
	if n <= 1 {
		return row
	}
	var out []Cell
	for k := 1; k <= n; k++ {
		turn := slices.Clone(row)
		for i := range turn {
			turn[i].Trial = k
		}
		if k%2 == 0 {
			slices.Reverse(turn)
		}
		out = append(out, turn...)
	}
	return out
}

// fewTrials is how many trials of a cell are run whatever the budget says: with fewer
// there is no confidence interval.
const fewTrials = 6

// spent says whether the budget, counted from the start of the first trial, forbids
// another repetition.
func (s *Scenario) spent(group []Cell, elapsed time.Duration) bool {
	return s.Budget > 0 && elapsed > s.Budget && group[0].Trial > fewTrials
}

// validateTrials checks what repeats and compares the cells.
func (s *Scenario) validateTrials(bad func(field, format string, args ...any)) {
	if s.Trials < 0 || s.Trials > maxTrials {
		bad("trials", "%d is not between 1 and %d", s.Trials, maxTrials)
	}
	if s.Budget < 0 || s.Budget > maxDuration {
		bad("budget", "%v is not between 0 and %v", s.Budget, maxDuration)
	}
	if s.Budget > 0 && s.Trials <= fewTrials {
		bad("budget", "the first %d trials of a cell are run in any case: it needs more trials than that", fewTrials)
	}
	if s.Base == "" {
		return
	}
	others := slices.DeleteFunc(slices.Clone(s.Subjects), func(name string) bool { return name == s.Base })
	switch {
	case len(others) == len(s.Subjects):
		if _, err := recipes.Find(s.Base); err != nil {
			bad("base", "%v%s", err, units.Nearest(s.Base, s.Subjects))
			return
		}
		bad("base", "%s is not among the subjects %v", s.Base, s.Subjects)
	case len(others) == 0:
		bad("base", "there is no other subject to compare %s with", s.Base)
	case s.Trials < 2:
		bad("base", "comparing takes several trials of each subject: give trials, 10 or more")
	}
}
