package compare

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

// shown returns the measures that have rows.
func shown() []report.Measure {
	var out []report.Measure
	for _, d := range metrics.All() {
		for _, field := range d.Shown {
			out = append(out, report.Measure{Metric: d.Name, Field: field})
		}
	}
	return out
}

// deciding returns those that decide where nobody says.
func deciding() []report.Measure {
	var out []report.Measure
	for _, d := range metrics.All() {
		if d.Decides {
			out = append(out, report.Measure{Metric: d.Name, Field: d.Main})
		}
	}
	return out
}

// values reads a measure of each trial that has it.
func values(trials []report.Trial, m report.Measure) []float64 {
	var out []float64
	for _, t := range trials {
		if v := m.Of(t); v != nil {
			out = append(out, *v)
		}
	}
	return out
}

// ratios reads a measure of each trial over its neighbour's of the base: the speed
// of the machine falls out of it.
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

// incomparable is the row of a measure that two runs have in different units, or that
// one has no longer.
func incomparable(old, new []report.Trial, m report.Measure) (Row, bool) {
	a, b := values(old, m), values(new, m)
	r := Row{What: m.String(), Result: Unknown, Old: Side{N: len(a)}, New: Side{N: len(b)}}
	switch was, is := unitsOf(old, m), unitsOf(new, m); {
	case len(a) > 0 && len(b) == 0:
		r.Why = "it was measured before, and is not now"
	case len(a) > 0 && !(len(was) == 1 && slices.Equal(was, is)):
		r.Why = fmt.Sprintf("its unit was %s before, and is %s now", strings.Join(was, " and "), strings.Join(is, " and "))
	}
	return r, r.Why != ""
}

// missing is a row for each measure that was asked for, and that no cell has: what
// nobody measured did not pass.
func missing(rows []Row, asked []report.Measure) []Row {
	var out []Row
	for _, m := range asked {
		has := func(r Row) bool {
			return r.Decides && (r.What == m.String() || strings.HasPrefix(r.What, m.String()+" over "))
		}
		if !slices.ContainsFunc(rows, has) {
			why := fmt.Sprintf("it was asked for, and measured in no cell; a p90 takes %d samples a trial, a p99 %d, a p999 %d",
				metrics.Fewest("p90"), metrics.Fewest("p99"), metrics.Fewest("p999"))
			out = append(out, Row{Cell: "both runs", What: m.String(), Decides: true, Result: Unknown, Why: why})
		}
	}
	return out
}

// unitsOf lists the units in which the trials give a measure, quoted.
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
