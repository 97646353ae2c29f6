package plot

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
)

func TestQueueDepth_showsAllThatWaits(t *testing.T) {
	if QueueDepth(Timeline{Trace: &report.Trace{}}) != nil {
		t.Error("a queue without items is drawn")
	}
	f := QueueDepth(sampleDepth())
	if f.body.Y.Max < 150 {
		t.Errorf("the axis ends at %v, and 150 items waited", f.body.Y.Max)
	}
	got := stepCurve([]xy{{1, 2}, {3, 4}})
	if len(got) != 3 || got[1] != (xy{3, 2}) {
		t.Errorf("steps: %v; want a line that stays level until the next point", got)
	}
}

func TestHoldersAtOnce_countsThem(t *testing.T) {
	const s = time.Second
	holds := []report.Hold{{Client: 0, Start: 1 * s, End: 4 * s}, {Client: 1, Start: 2 * s, End: 3 * s}, {Client: 2, Start: 3 * s, End: 5 * s}, {Client: 3, Start: 2 * s, End: 3 * s, Reads: true}}
	want := []xy{{1, 1}, {2, 2}, {3, 1}, {3, 2}, {4, 1}, {5, 0}}
	if got := holdersAtOnce(holds, false); !slices.Equal(got, want) {
		t.Errorf("holders %v, want %v", got, want)
	}
	if got := holdersAtOnce(holds, true); !slices.Equal(got, []xy{{2, 1}, {3, 0}}) {
		t.Errorf("readers %v", got)
	}
	if HoldersAtOnce(Timeline{Clients: 4, Trace: &report.Trace{Permits: 1, Holds: holds}}) != nil {
		t.Error("a lock is drawn")
	}
	if f := HoldersAtOnce(Timeline{Clients: 4, Trace: &report.Trace{Permits: 3, Holds: holds}}); f == nil || f.body.Y.Max < 3 {
		t.Errorf("the permits have no room in %+v", f)
	}
}

// sampleDepth invents a queue that a fault holds up for a second.
func sampleDepth() Timeline {
	d := Timeline{Trial: "queue-queue-parent-10", Label: "queue/parent", Clients: 10, Trace: &report.Trace{Queue: true,
		Faults: []report.Fault{{Fault: "partition.isolate", Target: "zk2 (leader)", Start: 3 * time.Second, End: 4 * time.Second, Proof: "seen"}}}}
	for i := range 1000 {
		p := report.DepthPoint{At: time.Duration(i) * 8 * time.Millisecond, Queued: i % 2, Due: i % 2}
		if i > 375 && i < 500 {
			p.Due = i - 350
			p.Queued = min(p.Due, 20)
		}
		d.Depth = append(d.Depth, p)
	}
	return d
}

func TestFitLogLog_findsTheSlope(t *testing.T) {
	power := func(exponent float64, noise ...float64) []xy {
		var out []xy
		for i, x := range []float64{10, 25, 50, 100, 200} {
			out = append(out, xy{x, 3 * math.Pow(x, exponent) * (1 + noise[i%len(noise)])})
		}
		return out
	}
	for _, c := range []struct {
		name string
		pts  []xy
		want float64
	}{
		{"a flat line", power(0, 0), 0}, {"a line through the origin", power(1, 0), 1}, {"a square", power(2, 0), 2},
	} {
		got, ok := fitLogLog(c.pts)
		if !ok || math.Abs(got.slope-c.want) > 1e-9 || got.high-got.low > 1e-6 {
			t.Errorf("%s: %+v, %v, want slope %v with no doubt", c.name, got, ok, c.want)
		}
	}
	got, ok := fitLogLog(power(1, 0.2, -0.2))
	if !ok || !(got.low < 1 && got.high > 1) || got.high-got.low < 0.05 {
		t.Errorf("with noise: %+v, want an interval around 1 that says so", got)
	}
}

// TestFitLogLog_knownInterval compares with a regression worked by hand: the
// logarithms are x = 0, 1, 2 and y = 0, 1, 1, so the slope is 1/2, the residual
// sum of squares 1/6, and the interval 1/2 ± 12.7062 · sqrt(1/12).
func TestFitLogLog_knownInterval(t *testing.T) {
	got, ok := fitLogLog([]xy{{1, 1}, {math.E, math.E}, {math.E * math.E, math.E}})
	half := 12.706205 * math.Sqrt(1.0/12)
	if !ok || math.Abs(got.slope-0.5) > 1e-9 || math.Abs(got.low-(0.5-half)) > 1e-6 || math.Abs(got.high-(0.5+half)) > 1e-6 {
		t.Errorf("%+v, want 0.5 ± %v", got, half)
	}
}

func TestFitLogLog_refusesTooFewPoints(t *testing.T) {
	for name, pts := range map[string][]xy{
		"nothing": nil, "two counts": {{10, 1}, {20, 2}}, "two counts, repeated": {{10, 1}, {10, 2}, {20, 2}, {20, 3}}, "a zero": {{1, 1}, {2, 0}, {3, 1}},
	} {
		if got, ok := fitLogLog(pts); ok {
			t.Errorf("%s: fitted %+v", name, got)
		}
	}
}

func TestStudent95_isThatOfTables(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.706, 10: 2.228, 30: 2.042, 40: 2.021, 60: 2.000, 120: 1.980, 100000: 1.960} {
		if got := student95(freedom); math.Abs(got-want) > 0.0015 {
			t.Errorf("student95(%d) = %v, want %v", freedom, got, want)
		}
	}
	if !math.IsInf(student95(0), 1) {
		t.Error("no freedom, no bound")
	}
}

// A slope whose interval holds 0 is no trend.
func TestTrend_isSeenOrNot(t *testing.T) {
	for _, row := range []struct {
		about string
		at    []xy
		want  string
	}{
		{"two points have no interval", []xy{{1, 1}, {2, 4}}, ""},
		{"a clear climb", []xy{{1, 1}, {10, 10}, {100, 100}, {1000, 1001}}, "1.00 (1.00 to 1.00)"},
		{"up and down", []xy{{1, 4}, {10, 1}, {100, 9}, {1000, 2}}, "no trend"},
	} {
		if got := trend(row.at); got != row.want {
			t.Errorf("%s: %q, want %q", row.about, got, row.want)
		}
	}
}
