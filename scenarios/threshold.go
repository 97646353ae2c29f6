package scenarios

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// validateThresholds reports thresholds that are misspelt or that the scenario cannot measure,
// before the run.
func (s *Scenario) validateThresholds(bad problemFunc) {
	for i, expr := range s.Thresholds {
		c, err := report.ParseThreshold(expr)
		if err == nil {
			err = s.answers(c)
		}
		if err != nil {
			bad(fmt.Sprintf("thresholds.%d", i), "%v", err)
		}
	}
}

// answers returns the measurement that the scenario lacks for the condition.
func (s *Scenario) answers(c report.Condition) error {
	phases := namesOf(s.Phases, func(p Phase) string { return p.Name })
	parameter, phase := c.Parameter(), c.Phase()
	switch {
	case parameter != "" && !slices.Contains(s.parameters(), parameter):
		return fmt.Errorf("threshold %q: the scenario has no parameter %q%s", c.Expr, parameter, units.Nearest(parameter, s.parameters()))
	case parameter != "" && s.Params[parameter] != "" && c.Fits(s.Params[parameter]) != "":
		return fmt.Errorf("threshold %q: %s", c.Expr, c.Fits(s.Params[parameter]))
	case phase != "" && !slices.Contains(phases, phase):
		return fmt.Errorf("threshold %q: the scenario has no phase %q%s", c.Expr, phase, units.Nearest(phase, phases))
	case c.TakesBase() && s.Base == "":
		return fmt.Errorf("threshold %q: the scenario names no base; say which subject is, like base: %s", c.Expr, strings.Join(s.Subjects[:min(1, len(s.Subjects))], ""))
	}
	return nil
}
