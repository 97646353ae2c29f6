package plot

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// sampleRamps invents two locks that keep up with different rates, and one that does to the end.
func sampleRamps() (matrix.Scenario, func(string) []metrics.Ramp, Glyphs) {
	ramps := map[string][]metrics.Ramp{}
	var trials []report.Trial
	for subject, capacity := range map[string]float64{"lock/parent": 130, "lock/predecessor": 420, "lock/quick": 2000} {
		r := metrics.Ramp{Phase: "ramp", From: 20, To: 1020, Capacity: capacity, KeptUp: capacity > 1020}
		for rate := 30.0; rate < min(1020, 1.8*capacity); rate += 20 {
			p50 := 2e6 / max(0.02, 1-rate/capacity)
			if rate > capacity {
				p50 = 1e8 + 2e7*(rate-capacity)
			}
			r.Points = append(r.Points, metrics.RampPoint{Rate: rate, Count: 10, P50: time.Duration(p50), Max: time.Duration(3*p50 + 1e6*math.Mod(rate, 7))})
		}
		name := "saturation-" + units.Identifier(subject)
		ramps[name] = []metrics.Ramp{r}
		trials = append(trials, report.Trial{Name: name, Cell: history.Cell{Scenario: "saturation", Subject: subject, Clients: 20}})
	}
	return matrix.GroupScenarios(trials)[0], func(trial string) []metrics.Ramp { return ramps[trial] }, NewGlyphs([]string{"lock/parent", "lock/predecessor", "lock/quick"})
}

func sampleCapacity() *Figure {
	s, ramps, glyphs := sampleRamps()
	return Capacity(s, 20, "ramp", ramps, glyphs)
}

func TestCapacity_namesWhatIsKeptUpWith(t *testing.T) {
	f := sampleCapacity()
	if got := legendText(f); got != "lock/parent 130/s; lock/predecessor 420/s; lock/quick; capacity" {
		t.Errorf("the legend is %s", got)
	}
	csv, err := f.CSV()
	if err != nil || !strings.Contains(string(csv), "lock/predecessor (capacity),420,") {
		t.Errorf("%v in\n%s", err, csv)
	}
	s, ramps, glyphs := sampleRamps()
	if Capacity(s, 10, "ramp", ramps, glyphs) != nil || Capacity(s, 20, "steady", ramps, glyphs) != nil {
		t.Error("a ramp is drawn that there is not")
	}
}

// Of several trials of a cell the median of each rate is drawn.
func TestCapacity_ofSeveralTrials(t *testing.T) {
	ramp := func(p50 time.Duration, capacity float64) metrics.Ramp {
		return metrics.Ramp{Phase: "ramp", Capacity: capacity, Points: []metrics.RampPoint{{Rate: 20, P50: p50, Max: 2 * p50}}}
	}
	g := rampGroup{ramp(9, 90), ramp(2, 20), ramp(5, 50)}
	if at, w := g.points(); len(at) != 1 || at[0] != (xy{20, 5}) || w.high[0].y != 10 {
		t.Errorf("points %v, up to %v", at, w.high)
	}
	if v, known := g.capacity(); v != 50 || !known {
		t.Errorf("capacity %v (%v), want 50", v, known)
	}
	g[0].KeptUp = true
	if v, known := g.capacity(); known {
		t.Errorf("capacity %v, though one has kept up to the end", v)
	}
}

// grown is a scenario of one subject whose trials have that many samples each.
func grown(samples int64) matrix.Scenario {
	var trials []report.Trial
	for _, n := range []int{10, 100} {
		trials = append(trials, report.Trial{Cell: history.Cell{Scenario: "s", Subject: "lock/a, b", Clients: n}, Metrics: map[string]report.Metric{
			metrics.HandoffLatency: {Unit: "ns", Count: &samples, P50: new(float64(n) * 1e5), P99: new(float64(n) * 1.5e5)}}})
	}
	return matrix.GroupScenarios(trials)[0]
}

func TestCSV_hasEveryPointAndItsUnit(t *testing.T) {
	got, err := Growth(grown(100), metrics.HandoffLatency, "hand-off", NewGlyphs(nil)).CSV()
	want := "series,contenders,\"hand-off latency p50, ns\"\n\"lock/a, b\",10,1e+06\n\"lock/a, b\",100,1e+07\n" +
		"\"lock/a, b (p99)\",10,1.5e+06\n\"lock/a, b (p99)\",100,1.5e+07\n"
	if err != nil || string(got) != want {
		t.Errorf("%v\n%s\nwant\n%s", err, got, want)
	}
}

// A median of three samples is not drawn as if it were one of three thousand.
func TestGrowth_isNotDrawnOfFewSamples(t *testing.T) {
	if f := Growth(grown(minSamples-1), metrics.HandoffLatency, "hand-off", NewGlyphs(nil)); f != nil {
		t.Error("medians of a few samples are drawn")
	}
}

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
	f := Percentiles(s, 10, "queue.latency", "queue", NewGlyphs(nil))
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
	if f := Percentiles(few, 10, "queue.latency", "queue", NewGlyphs(nil)); f != nil {
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
