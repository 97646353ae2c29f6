package plot

import (
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
		byY := func(a, b xy) int {
			switch {
			case a.y < b.y:
				return -1
			case a.y > b.y:
				return 1
			}
			return 0
		}
		if n > 0 && (slices.MinFunc(got, byY).y != slices.MinFunc(pts, byY).y || slices.MaxFunc(got, byY).y != slices.MaxFunc(pts, byY).y) {
			t.Fatal("an extreme was lost")
		}
	})
}

func TestFormatFixed_hasNoMinusBeforeNothing(t *testing.T) {
	if got := formatFixed(-0.001, 2); got != "0.00" {
		t.Errorf("formatFixed(-0.001, 2) = %q, want no minus before nothing", got)
	}
	if got := formatFixed(-0.12, 2); got != "-0.12" {
		t.Errorf("formatFixed(-0.12, 2) = %q", got)
	}
}

func TestExtent_coversFaults(t *testing.T) {
	from, to := extent(Timeline{Trace: &report.Trace{Faults: []report.Fault{{Start: 3 * time.Second, End: time.Second}}, Handoffs: []metrics.Handoff{{At: 5 * time.Second}}}})
	if from != 3 || to != 5 {
		t.Errorf("extent %v to %v, want 3 to 5: a fault does not end before it starts", from, to)
	}
}

func TestTrend_drawsALineACell(t *testing.T) {
	day := func(d int) time.Time { return time.Date(2026, 11, d, 3, 0, 0, 0, time.UTC) }
	for _, row := range []struct {
		about string
		lines []Line
		says  []string
	}{
		{"over days it has dates", []Line{{"lock/a", []Point{{day(1), 1e6, 9e5, 1.1e6}, {day(9), 2e6, 0, 0}}}}, []string{"lock/a", "2026-11-01", "2026-11-09"}},
		{"where a day has several ticks it has dates and times", []Line{{"lock/a", []Point{{day(1), 1e6, 0, 0}, {day(4), 2e6, 0, 0}}}}, []string{"11-01 03:00", "11-01 17:24", "11-04 03:00", "2026 (UTC)"}},
		{"within a day it has times", []Line{{"lock/a", []Point{{day(1), 1e6, 0, 0}, {day(1).Add(5 * time.Hour), 2e6, 0, 0}}}}, []string{"03:00", "08:00", "2026-11-01"}},
		{"a single run is a point", []Line{{"lock/a", []Point{{day(1), 1e6, 0, 0}}}}, []string{"lock/a"}},
		{"no points are no plot", []Line{{"lock/a", []Point{{day(1), 0, 0, 0}, {day(2), math.Inf(1), 0, 0}, {day(2), math.NaN(), 0, 0}}}}, nil},
	} {
		f := Trend("handoff", "hand-off", "ns", row.lines, NewGlyphs([]string{"lock/a"}))
		if f == nil {
			if row.says != nil {
				t.Errorf("%s: no plot", row.about)
			}
			continue
		}
		svg, err := f.SVG()
		if err != nil || row.says == nil {
			t.Errorf("%s: a plot, error %v", row.about, err)
			continue
		}
		for _, want := range row.says {
			if !strings.Contains(string(svg), want) {
				t.Errorf("%s: it does not say %q", row.about, want)
			}
		}
	}
}

// A number without its unit says nothing.
func TestTrend_isInTheUnitOfItsMetric(t *testing.T) {
	day := time.Date(2026, 11, 1, 3, 0, 0, 0, time.UTC)
	for _, row := range []struct {
		title, unit string
		value       float64
		says        []string
	}{
		{"throughput", "1/s", 240, []string{"throughput, 1/s (log scale)"}},
		{"fanout.notifications", "1/handoff", 4.5, []string{"fanout.notifications, per hand-off (log scale)"}},
		{"fanout.bytes", "B/handoff", 450, []string{"fanout.bytes, B per hand-off (log scale)"}},
		{"queue.yield", "1/notification", 0.5, []string{"queue.yield, per notification (log scale)"}},
		{"handoff.latency.p50", "ns", 3e6, []string{"handoff.latency.p50 (log scale; each tick has its unit)", "2 ms", "5 ms"}},
		{"fairness", "1", 0.9, []string{"fairness (log scale)"}},
	} {
		f := Trend("x", row.title, row.unit, []Line{{"a", []Point{{day, row.value, 0, 0}}}}, NewGlyphs(nil))
		svg, err := f.SVG()
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range row.says {
			if !strings.Contains(string(svg), want) {
				t.Errorf("the plot of %s in %s does not say %q", row.title, row.unit, want)
			}
		}
	}
}
