package view

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

// A plot of one trial of several says which.
func TestFigures_ofOneTrialOfSeveralSaySo(t *testing.T) {
	b := builder{Input: Input{Traces: map[string]*report.Trace{"a": {Handoffs: []metrics.Handoff{{At: 1, Latency: 1}}}}}}
	for merged, want := range map[int]bool{0: false, 3: true} {
		for _, f := range b.overTime(report.Trial{Name: "a", Merged: merged}, nil) {
			if f != nil && strings.Contains(f.About, "Of the 3 trials of this cell") != want {
				t.Errorf("of %d trials: %s", merged, f.About)
			}
		}
	}
}
