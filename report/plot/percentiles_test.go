package plot

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestQuantiles_endAtTheSlowest(t *testing.T) {
	summary := metrics.Metric{Count: new(int64(15)), Min: new(1e6), P50: new(2e6), P90: new(5e6), Max: new(1.2e9)}
	got := quantiles(summary)
	want := []xy{{0, 1e6}, {nines(0.5), 2e6}, {1, 5e6}, {nines(14.0 / 15), 1.2e9}}
	if !slices.Equal(got, want) {
		t.Errorf("points %v, want %v", got, want)
	}
	summary.Max = nil
	if got := quantiles(summary); got[len(got)-1] != (xy{1, 5e6}) {
		t.Errorf("without a maximum the last point is %v", got[len(got)-1])
	}
}

func TestQuantity_namesLatencyOrTime(t *testing.T) {
	for metric, want := range map[string]string{"handoff.latency": "x latency", "leaderless.time": "x time"} {
		if got := quantity(metric, "x"); got != want {
			t.Errorf("%s is called a %s, want a %s", metric, got, want)
		}
	}
}

// repeated is a trial of a cell that was run several times.
func repeated(name string, p50 float64, n int64) report.Trial {
	return report.Trial{Name: name, Cell: history.Cell{Scenario: "s", Subject: "queue/a", Clients: 10}, Metrics: map[string]metrics.Metric{
		"queue.latency": {Unit: "ns", Count: &n, Min: new(p50 / 2), P50: &p50, P90: new(2 * p50), P99: new(3 * p50), Max: new(4 * p50)}}}
}

// The points of a repeated cell are the numbers of the tables.
func TestPercentiles_ofARepeatedCellAreMedians(t *testing.T) {
	s := matrix.GroupScenarios([]report.Trial{repeated("1", 1e6, 200), repeated("2", 3e6, 300), repeated("3", 2e6, 100)})[0].Merged()
	f := Percentiles(s, s.Count(10), "queue.latency", "queue", NewGlyphs(nil))
	if got := legendText(f); got != "queue/a (600 samples)" {
		t.Errorf("the legend is %q", got)
	}
	if !strings.Contains(f.About, "the median of their trials, as in the tables") {
		t.Errorf("about: %s", f.About)
	}
	var points []float64
	for _, q := range f.data.series[0].at {
		points = append(points, q.y)
	}
	if want := []float64{0.5e6, 2e6, 4e6, 6e6, 12e6}; !slices.Equal(points, want) {
		t.Errorf("points %v, want %v", points, want)
	}
	few := matrix.GroupScenarios([]report.Trial{repeated("1", 1e6, minSamples-1)})[0]
	if f := Percentiles(few, few.Count(10), "queue.latency", "queue", NewGlyphs(nil)); f != nil {
		t.Error("a few samples are plotted")
	}
}

// The plots by contenders take merged trials, and say so.
func TestGrowth_ofARepeatedCellIsItsMedian(t *testing.T) {
	more := repeated("4", 5e6, 200)
	more.Clients = 20
	s := matrix.GroupScenarios([]report.Trial{repeated("1", 1e6, 200), repeated("2", 3e6, 300), more})[0]
	if f := Growth(s.Merged(), "queue.latency", "queue", NewGlyphs(nil)); !strings.Contains(f.About, "the median of their trials") {
		t.Errorf("about: %s", f.About)
	}
}
