package plot

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

func busy(subject string, clients int, rates ...float64) []report.Trial {
	var out []report.Trial
	for _, v := range rates {
		out = append(out, report.Trial{Cell: history.Cell{Scenario: "s", Subject: subject, Clients: clients},
			Metrics: map[string]metrics.Metric{metrics.Throughput: {Unit: "1/s", Value: &v}}})
	}
	return out
}

func scenarioOf(cells ...[]report.Trial) matrix.Scenario {
	var all []report.Trial
	for _, c := range cells {
		all = append(all, c...)
	}
	return matrix.GroupScenarios(all)[0]
}

func TestThroughput_isTheMedianOfACell(t *testing.T) {
	s := scenarioOf(busy("a", 10, 300, 100, 250), busy("a", 20, 90), busy("b", 10, 0), busy("b", 20, 0))
	f := Throughput(s, NewGlyphs([]string{"a", "b"}))
	if f.Clients != 0 || f.yTitle != "throughput, 1/s (log scale)" {
		t.Errorf("clients %d, axis %q", f.Clients, f.yTitle)
	}
	if got := legendText(f); got != "a; b: always 0" {
		t.Errorf("the legend says %q", got)
	}
	medians, w, _ := throughputPoints(s.Counts, s.Series[0])
	if len(medians) != 2 || medians[0] != (xy{10, 250}) || medians[1] != (xy{20, 90}) {
		t.Errorf("points %v, want the medians of the trials", medians)
	}
	if len(w.low) != 1 || w.low[0].y != 100 || w.high[0].y != 300 {
		t.Errorf("whiskers %+v, want one from the lowest to the highest of three trials", w)
	}
	if !strings.Contains(f.About, "the median of the trials") {
		t.Errorf("about: %s", f.About)
	}
}

func TestThroughput_ofOneCountIsNotDrawn(t *testing.T) {
	if Throughput(scenarioOf(busy("a", 10, 300, 100)), NewGlyphs(nil)) != nil {
		t.Error("one client count shows no trend, and was drawn")
	}
	if Throughput(scenarioOf([]report.Trial{{Cell: history.Cell{Scenario: "s", Clients: 1}}, {Cell: history.Cell{Scenario: "s", Clients: 2}}}), NewGlyphs(nil)) != nil {
		t.Error("a plot of nothing")
	}
}

// In an open loop the rate is that at which items were put: it says nothing about the
// queue.
func TestThroughput_ofAnOpenLoopIsNotDrawn(t *testing.T) {
	s := scenarioOf(busy("a", 10, 50), busy("a", 20, 50))
	for _, x := range s.Series[0].Trials {
		x.Metrics[metrics.QueueYield] = metrics.Metric{Value: new(1.0)}
	}
	if Throughput(s, NewGlyphs(nil)) != nil {
		t.Error("the rate of an open loop was drawn")
	}
}
