package matrix

import "github.com/zkbench/zkbench/report"

// Names gives the trials of a run their names: each is called as [Of] calls its
// series. It holds the parameters that vary, by scenario.
type Names map[string][]string

// NamesOf returns the names for the trials of a run. All of them are needed: what
// varies is not to be seen in one.
func NamesOf(trials []report.Trial) Names {
	byScenario := map[string][]report.Trial{}
	for _, t := range trials {
		byScenario[t.Scenario] = append(byScenario[t.Scenario], t)
	}
	n := Names{}
	for name, mine := range byScenario {
		n[name] = varying(mine)
	}
	return n
}

// Label is the label of the series that the trial belongs to.
func (n Names) Label(t report.Trial) string { return label(t.Subject, pick(t, n[t.Scenario])) }

// CellOf returns a trial without numbers that stands in the cell of a comparison, to
// be named like the trials that were compared.
func CellOf(c report.Comparison) report.Trial {
	return report.Trial{Cell: c.Cell}
}
