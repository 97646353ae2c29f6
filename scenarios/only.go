package scenarios

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report/units"
)

// chosen returns the cells that the scenario selects by name; all if it selects none.
func (s *Scenario) chosen(cells []cell) []cell {
	if len(s.Only) == 0 {
		return cells
	}
	return slices.DeleteFunc(cells, func(c cell) bool { return !slices.Contains(s.Only, c.trialName()) })
}

func (s *Scenario) validateOnly(bad problemFunc) {
	if len(s.Only) == 0 {
		return
	}
	if p := s.audit(); p != nil && len(p.Cells) == 0 {
		bad("only", "an audit knows its trials when it has watched the steps: name cells, too (phases.0.cells)")
		return
	}
	cells, err := s.everyCell()
	if err != nil {
		bad("only", "%v", err)
		return
	}
	names := namesOf(cells, cell.trialName)
	for i, name := range s.Only {
		if !slices.Contains(names, name) {
			bad(fmt.Sprintf("only.%d", i), "the scenario has no trial %s%s", name, units.Nearest(name, names))
		}
	}
}
