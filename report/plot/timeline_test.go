package plot

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"pgregory.net/rapid"
)

// TestThin_keepsTheExtremes: whatever the points, the thinned ones are some of them, in order, few
// enough, and the lowest and the highest are among them.
func TestThin_keepsTheExtremes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, limit := rapid.IntRange(0, 3000).Draw(t, "points"), rapid.IntRange(3, 400).Draw(t, "limit")
		pts := make([]xy, n)
		x := 0.0
		for i := range pts {
			x += rapid.SampledFrom([]float64{0, 0.001, 1, 50}).Draw(t, "step")
			pts[i] = xy{x, rapid.Float64Range(-1e6, 1e6).Draw(t, "y")}
		}
		got := thin(pts, limit)
		if len(got) > limit {
			t.Fatalf("%d points, more than %d", len(got), limit)
		}
		at := 0
		for _, p := range got {
			i := slices.Index(pts[at:], p)
			if i < 0 {
				t.Fatalf("%v is not one of the points, or out of order", p)
			}
			at += i + 1
		}
		byY := func(a, b xy) int { return cmp.Compare(a.y, b.y) }
		if n > 0 && (slices.MinFunc(got, byY).y != slices.MinFunc(pts, byY).y || slices.MaxFunc(got, byY).y != slices.MaxFunc(pts, byY).y) {
			t.Fatal("an extreme was lost")
		}
	})
}

func TestFormatFixed_hasNoMinusBeforeNothing(t *testing.T) {
	for v, want := range map[float64]string{-0.001: "0.00", -0.12: "-0.12"} {
		if got := formatFixed(v, 2); got != want {
			t.Errorf("formatFixed(%v, 2) = %q, want %q", v, got, want)
		}
	}
}

func TestExtent_coversFaults(t *testing.T) {
	from, to := extent(Timeline{Trace: &report.Trace{Faults: []report.Fault{{Start: 3 * time.Second, End: time.Second}}, Handoffs: []metrics.Handoff{{At: 5 * time.Second}}}})
	if from != 3 || to != 5 {
		t.Errorf("extent %v to %v, want 3 to 5: a fault does not end before it starts", from, to)
	}
}

func TestTrend(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 3, 0, 0, 0, time.UTC) }
	line := func(points ...Point) []Line { return []Line{{"lock/a", points}} }
	point := func(v float64) []Line { return line(Point{day(1), v, 0, 0}) }
	for _, row := range []struct {
		title, unit string
		lines       []Line
		says        []string // nil if there is no plot
	}{
		{"over days it has dates", "ns", line(Point{day(1), 1e6, 9e5, 1.1e6}, Point{day(9), 2e6, 0, 0}), []string{"lock/a", "2026-11-01", "2026-11-09"}},
		{"where a day has several ticks it has dates and times", "ns", line(Point{day(1), 1e6, 0, 0}, Point{day(4), 2e6, 0, 0}),
			[]string{"11-01 03:00", "11-01 17:24", "11-04 03:00", "2026 (UTC)"}},
		{"within a day it has times", "ns", line(Point{day(1), 1e6, 0, 0}, Point{day(1).Add(5 * time.Hour), 2e6, 0, 0}), []string{"03:00", "08:00", "2026-11-01"}},
		{"a single run is a point", "ns", point(1e6), []string{"lock/a"}},
		{"no points are no plot", "ns", line(Point{day(1), 0, 0, 0}, Point{day(2), math.Inf(1), 0, 0}, Point{day(2), math.NaN(), 0, 0}), nil},
		// A number without its unit says nothing.
		{"throughput", "1/s", point(240), []string{"throughput, 1/s (log scale)"}},
		{"fanout.notifications", "1/handoff", point(4.5), []string{"fanout.notifications, per hand-off (log scale)"}},
		{"fanout.bytes", "B/handoff", point(450), []string{"fanout.bytes, B per hand-off (log scale)"}},
		{"queue.yield", "1/notification", point(0.5), []string{"queue.yield, per notification (log scale)"}},
		{"handoff.latency.p50", "ns", point(3e6), []string{"handoff.latency.p50 (log scale; each tick has its unit)", "2 ms", "5 ms"}},
		{"fairness", "1", point(0.9), []string{"fairness (log scale)"}},
	} {
		f := Trend("x", row.title, row.unit, row.lines, NewGlyphs([]string{"lock/a"}))
		if (f == nil) != (row.says == nil) {
			t.Errorf("%s: a plot: %v", row.title, f != nil)
		}
		if f == nil {
			continue
		}
		svg, err := f.SVG()
		must(t, err)
		for _, want := range row.says {
			if !strings.Contains(string(svg), want) {
				t.Errorf("%s: it does not say %q", row.title, want)
			}
		}
	}
}

// sampleDeliveries invents a queue of which a fault holds up the items.
func sampleDeliveries() Timeline {
	t := Timeline{Trial: "queue-queue-predecessor-10", Label: "queue/predecessor", Clients: 10, Trace: &report.Trace{Queue: true,
		Faults: []report.Fault{{Fault: "session.close", Target: "client 3", Start: 6 * time.Second, End: 7 * time.Second, Proof: "seen"}}}}
	for i := range 500 {
		due := time.Duration(i) * 20 * time.Millisecond
		wait := 2*time.Millisecond + time.Duration(i*7919%1000)*time.Microsecond
		if due > 6*time.Second && due < 7*time.Second {
			wait += 7*time.Second - due
		}
		t.Handoffs = append(t.Handoffs, metrics.Handoff{At: due + wait, Latency: wait})
	}
	return t
}

func TestOverTime_ofAQueueSpeaksOfItems(t *testing.T) {
	f := OverTime(sampleDeliveries(), NewGlyphs(nil))
	if f == nil {
		t.Fatal("no plot of a queue's deliveries")
	}
	if f.Title != "Delivery latency over time: queue/predecessor, 10 consumers" || f.yTitle != "delivery latency (log scale)" {
		t.Errorf("title %q, axis %q", f.Title, f.yTitle)
	}
	if got := legendText(f); got != "item (500); fault active" {
		t.Errorf("the legend says %q", got)
	}
	if !strings.Contains(f.About, "from the time at which it was due") {
		t.Errorf("about: %s", f.About)
	}
}

func TestStepCurve_staysLevelUntilTheNextPoint(t *testing.T) {
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
