package view

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

// A plot of one trial of several says which.
func TestFigures_ofOneTrialOfSeveralSaySo(t *testing.T) {
	b := builder{Input: Input{Traces: map[string]*report.Trace{"a": {Handoffs: []metrics.Handoff{{At: 1, Latency: 1}}}}}}
	for merged, want := range map[int]bool{0: false, 3: true} {
		for _, f := range b.overTime(report.Trial{Name: "a", Merged: merged}, nil) {
			if f != nil && strings.Contains(f.About, "The cell has 3 trials") != want {
				t.Errorf("of %d trials: %s", merged, f.About)
			}
		}
	}
}

// What a scenario of paused holders answers is what they did, of all subjects in one plot; for
// how long nobody held is beside the point.
func TestFigures_ofPausedHoldersAnswer(t *testing.T) {
	trace := &report.Trace{Pauses: []metrics.Pause{{Granted: 1, Resumed: 2, Until: 3}}, Failovers: []metrics.Failover{{Latency: 1}}}
	v := Of(Input{Traces: map[string]*report.Trace{"a": trace, "b": trace}, Result: report.Result{Trials: []report.Trial{
		{Name: "a", Cell: history.Cell{Scenario: "s", Subject: "lock/a", Clients: 2}}, {Name: "b", Cell: history.Cell{Scenario: "s", Subject: "lock/b", Clients: 2}},
	}}})
	var answers []string
	for _, f := range v.Figures {
		if f.Answer {
			answers = append(answers, f.Name)
		}
	}
	if want := []string{"paused", "resumed"}; !slices.Equal(answers, want) {
		t.Errorf("%q answer, want %q", answers, want)
	}
}
