package plot

import (
	"iter"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

// The caption says that each line ends at the slowest that was measured: also where
// only a summary is at hand.
func TestDistribution_curveEndsAtTheSlowest(t *testing.T) {
	summary := metrics.Metric{Count: new(int64(15)), Min: new(1e6), P50: new(2e6), P90: new(5e6), Max: new(1.2e9)}
	for _, row := range []struct {
		name string
		of   Distribution
		want xy
	}{
		{"every sample", Distribution{Exact: []float64{3e6, 1e6, 9e6, 2e6}}, xy{nines(0.75), 9e6}},
		{"a summary", Distribution{Summary: summary}, xy{nines(14.0 / 15), 1.2e9}},
		{"a summary without a largest", Distribution{Summary: metrics.Metric{Count: new(int64(15)), Min: new(1e6), P90: new(5e6)}}, xy{1, 5e6}},
	} {
		curve := row.of.curve()
		got := curve[len(curve)-1]
		if math.Abs(got.x-row.want.x) > 1e-9 || got.y != row.want.y {
			t.Errorf("%s: it ends at %v, want %v", row.name, got, row.want)
		}
	}
}

// What stands at a percentile is what the table has there: 99 of 100 samples were at
// most as slow as the 99th of them, not as the 100th.
func TestDistribution_isThatOfTheTables(t *testing.T) {
	h := stats.NewHistogram()
	var exact []float64
	for i := range 500 {
		v := time.Duration(i+1) * 10 * time.Millisecond
		h.Record(v)
		exact = append(exact, float64(v))
	}
	m := metrics.Metric{Count: new(h.Count()), Min: new(h.Min()), Max: new(h.Max()), P50: new(h.Percentile(50)), P90: new(h.Percentile(90)), P99: new(h.Percentile(99)), P999: new(h.Percentile(99.9))}
	for name, d := range map[string]Distribution{"with a summary": {Exact: exact, Summary: m}, "without one": {Exact: exact}} {
		curve := d.curve()
		for _, points := range [][]xy{curve, d.quantileMarkers(curve)} {
			for fraction, want := range map[float64]float64{0.5: *m.P50, 0.9: *m.P90, 0.99: *m.P99} {
				i := slices.IndexFunc(points, func(q xy) bool { return math.Abs(q.x-nines(fraction)) < 1e-9 })
				if i < 0 || math.Abs(points[i].y-want) > 0.002*want {
					t.Errorf("%s: at %v it is not %v: point %d of %v", name, fraction, want, i, points[max(i, 0)])
				}
			}
		}
	}
}

// Of few samples, too, what the tables have stands on the line.
func TestDistribution_marksStandOnItsLine(t *testing.T) {
	for _, n := range []int{10, 12, 57} {
		h := stats.NewHistogram()
		d := Distribution{}
		for i := range n {
			v := time.Duration(i*i+1) * time.Millisecond
			h.Record(v)
			d.Exact = append(d.Exact, float64(v))
		}
		d.Summary = metrics.Metric{Count: new(h.Count()), Min: new(h.Min()), Max: new(h.Max()), P50: new(h.Percentile(50)), P90: new(h.Percentile(90))}
		line := d.line(d.curve())
		for _, m := range d.quantileMarkers(d.curve()) {
			near := func(y float64) bool { return math.Abs(y-m.y) <= 0.002*m.y }
			on := slices.ContainsFunc(slices.Collect(pairs(line)), func(p [2]xy) bool {
				return p[0].x <= m.x+1e-9 && m.x <= p[1].x+1e-9 && near(p[0].y) && near(p[1].y)
			})
			if !on {
				t.Errorf("of %d samples, the mark %v is not on the line %v", n, m, line)
			}
		}
	}
}

// pairs are each point with the next.
func pairs(line []xy) iter.Seq[[2]xy] {
	return func(yield func([2]xy) bool) {
		for i := range line[1:] {
			if !yield([2]xy{line[i], line[i+1]}) {
				return
			}
		}
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

// A repeated cell is drawn as the tables have it, and not as its first trial was.
func TestLatencies_ofARepeatedCellAreMedians(t *testing.T) {
	trials := []report.Trial{repeated("1", 1e6, 200), repeated("2", 3e6, 300), repeated("3", 2e6, 100)}
	s := matrix.GroupScenarios(trials)[0]
	for _, row := range []struct {
		name  string
		exact func(string) []float64
	}{
		{"without the samples", func(string) []float64 { return nil }},
		{"with them, which are not put together", func(string) []float64 { return []float64{1, 2, 3} }},
	} {
		d := Latencies(s, 10, "queue.latency", row.exact)[0]
		m := d.Summary
		if *m.P50 != 2e6 || *m.P99 != 6e6 || *m.Min != 0.5e6 || *m.Max != 12e6 || *m.Count != 600 || d.Trials != 3 || d.Exact != nil {
			t.Errorf("%s: p50 %v, p99 %v, min %v, max %v of %v in %d trials", row.name, *m.P50, *m.P99, *m.Min, *m.Max, *m.Count, d.Trials)
		}
		f := Percentiles("queue.latency", "queue", matrix.Count{N: 10, Noun: "contender"}, []Distribution{d}, NewGlyphs(nil))
		if got := legendText(f); got != "queue/a (600 samples of 3 trials)" {
			t.Errorf("%s: the legend says %q", row.name, got)
		}
		if !strings.Contains(f.About, "the median over the trials, as in the tables") {
			t.Errorf("%s: about: %s", row.name, f.About)
		}
	}
}

func TestLatencies_ofOneTrialAreItsOwn(t *testing.T) {
	s := matrix.GroupScenarios([]report.Trial{repeated("1", 1e6, 200)})[0]
	d := Latencies(s, 10, "queue.latency", func(string) []float64 { return sampleExact(1e6, 200) })
	if len(d[0].Exact) != 200 {
		t.Errorf("%d exact samples, want those of the one trial", len(d[0].Exact))
	}
	if f := Percentiles("queue.latency", "queue", matrix.Count{N: 10, Noun: "contender"}, d, NewGlyphs(nil)); strings.Contains(f.About, "epeated") || legendText(f) != "queue/a (200 samples)" {
		t.Errorf("about %q, legend %q: nothing was repeated", f.About, legendText(f))
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
