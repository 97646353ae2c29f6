package plot

import (
	"math"
	"strings"
	"testing"
	"time"
)

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
