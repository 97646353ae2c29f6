package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

func shownMeasures() []report.Measure {
	var out []report.Measure
	for _, d := range metrics.All() {
		for _, field := range d.Shown {
			out = append(out, report.Measure{Metric: d.Name, Field: field})
		}
	}
	return out
}

func decidingMeasures() []report.Measure {
	var out []report.Measure
	for _, d := range metrics.All() {
		if d.Decides {
			out = append(out, report.Measure{Metric: d.Name, Field: d.Main})
		}
	}
	return out
}

func values(trials []report.Trial, m report.Measure) []float64 {
	var out []float64
	for _, t := range trials {
		if v := m.Of(t); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// ratios returns the ratio of each trial's value to the value of the base's trial in the same repetition.
// These ratios do not depend on the speed of the machine.
func (c cell) ratios(m report.Measure) []float64 {
	var out []float64
	for _, t := range c.trials {
		a, b := m.Of(c.bases[t.Repetition]), m.Of(t)
		if a != nil && b != nil && *a > 0 {
			out = append(out, *b / *a)
		}
	}
	return out
}

// incomparable returns a row for a measure that has different units in the two runs, or that only the
// old run has.
func incomparable(old, new []report.Trial, m report.Measure) (Row, bool) {
	a, b := values(old, m), values(new, m)
	r := Row{What: m.String(), Result: Unknown, Old: Side{N: len(a)}, New: Side{N: len(b)}}
	switch was, is := unitsOf(old, m), unitsOf(new, m); {
	case len(a) > 0 && len(b) == 0:
		r.Why = "measured before, but not now"
	case len(a) > 0 && !(len(was) == 1 && slices.Equal(was, is)):
		r.Why = fmt.Sprintf("unit %s before, %s now", strings.Join(was, " and "), strings.Join(is, " and "))
	}
	return r, r.Why != ""
}

// missingRows returns an unknown row for each requested measure without a deciding row in any cell.
func missingRows(rows []Row, asked []report.Measure) []Row {
	var out []Row
	for _, m := range asked {
		has := func(r Row) bool {
			return r.Decides && (r.What == m.String() || strings.HasPrefix(r.What, m.String()+" over "))
		}
		if !slices.ContainsFunc(rows, has) {
			why := fmt.Sprintf("requested, but not measured in any cell; a p90 needs %d samples per trial, a p99 %d, a p999 %d",
				metrics.Fewest("p90"), metrics.Fewest("p99"), metrics.Fewest("p999"))
			out = append(out, Row{Cell: "both runs", What: m.String(), Decides: true, Result: Unknown, Why: why})
		}
	}
	return out
}

func unitsOf(trials []report.Trial, m report.Measure) []string {
	var out []string
	for _, t := range trials {
		if x, ok := t.Metrics[m.Metric]; ok {
			out = append(out, strconv.Quote(x.Unit))
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func unit(trials []report.Trial, m report.Measure) string {
	for _, t := range trials {
		if x, ok := t.Metrics[m.Metric]; ok {
			return x.Unit
		}
	}
	return "1"
}
