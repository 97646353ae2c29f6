package view

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
)

// capacities returns the capacity of each trial of the series, and its unserved acquires.
func capacities(x matrix.Series) (out []string) {
	for _, t := range x.Trials {
		label := trialLabel(x.Label, t)
		if m := t.Metrics[metrics.Capacity]; m.Value != nil {
			out = append(out, fmt.Sprintf("With a rising arrival rate, %s kept up with %s; %s.", label, units.Quantity(*m.Value, m.Unit), m.Note))
		}
		if m := t.Metrics[metrics.Unserved]; m.Value != nil && *m.Value > 0 {
			out = append(out, fmt.Sprintf("Of %s that were due, %s did not grant %s by the end.", units.Plural(int(*m.Count), "acquire"), label, units.Number(*m.Value)))
		}
	}
	return out
}

func capacityNote(_ builder, t report.Trial) string { return t.Metrics[metrics.Capacity].Note }

// capacityFigures returns a figure for each ramp and number of clients, the largest first.
func (b builder) capacityFigures(s matrix.Scenario, glyphs plot.Glyphs) (out []*plot.Figure) {
	ramps := func(trial string) []metrics.Ramp { return cmp.Or(b.Traces[trial], &report.Trace{}).Ramps }
	var phases []string
	for _, t := range seriesOrder([]matrix.Scenario{s}) {
		for _, r := range ramps(t.Name) {
			if !slices.Contains(phases, r.Phase) {
				phases = append(phases, r.Phase)
			}
		}
	}
	for _, n := range slices.Backward(s.Counts) {
		for _, p := range phases {
			out = append(out, plot.Capacity(s, n, p, ramps, glyphs))
		}
	}
	return out
}
