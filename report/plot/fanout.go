package plot

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// FanOut plots notifications per hand-off against contenders: measured as
// points, the formula as a dashed line. It is nil when no trial counted them.
func FanOut(s matrix.Scenario, glyphs Glyphs) *Figure {
	f := newFigure("fanout", "Notifications per hand-off",
		"How many notifications one hand-off causes (of a queue: one item put and taken), counted on the wire. Points are "+
			"measured, dashed lines are the formula for the recipe. A line that climbs is a herd; a flat one wakes only the next in line.")
	f.yTitle = "notifications per hand-off (log scale)"
	return f.notifications(s, metrics.FanoutNotifications, glyphs)
}

// Flap plots against contenders how many notifications it causes that one waiter is
// gone for a moment. It is nil when no trial counted them.
func Flap(s matrix.Scenario, glyphs Glyphs) *Figure {
	f := newFigure("flap", "Notifications when a waiter is gone for a moment",
		"One waiter in the middle of the line loses its session and comes back, and nobody else does anything: how many "+
			"notifications that causes, counted on the wire. Points are measured, dashed lines are the formula for the recipe. "+
			"A line that climbs: a short disconnect of one makes everybody respond.")
	f.yTitle = "notifications per flap (log scale)"
	return f.notifications(s, metrics.FlapNotifications, glyphs)
}

// notifications plots a count of notifications and its formula, or returns nil.
func (f *Figure) notifications(s matrix.Scenario, metric string, glyphs Glyphs) *Figure {
	c := newCurves(f, len(s.Series), "notifications")
	formula := false
	for _, series := range s.Series {
		glyph := glyphs.of(series.Label)
		measured, expected, none := fanOutPoints(series, metric)
		if none {
			c.none(series.Label, glyph)
		}
		if len(measured) == 0 {
			continue
		}
		formula = formula || len(expected) > 0
		c.add(curve{label: series.Label, glyph: glyph, at: measured, line: expected, dash: true, size: glyphSize + 1})
	}
	if c.drawn == 0 {
		return nil
	}
	if formula {
		f.legend = append(f.legend, entry{text: "formula", glyph: glyph{color: faint}, line: true, dash: true})
	}
	f.About += medians(s)
	c.scales(s, units.TickNumber)
	return f
}

// fanOutPoints reads a series. Values of 0 have no place on a log axis; none says
// that it was counted and was 0 everywhere.
func fanOutPoints(s matrix.Series, metric string) (measured, expected []xy, none bool) {
	counted := false
	for _, t := range s.Trials {
		m := t.Metrics[metric]
		counted = counted || m.Value != nil
		if m.Value != nil && *m.Value > 0 {
			measured = append(measured, xy{float64(t.Clients), *m.Value})
		}
		if m.Expected != nil && *m.Expected > 0 {
			expected = append(expected, xy{float64(t.Clients), *m.Expected})
		}
	}
	return measured, expected, counted && len(measured) == 0
}

// Growth plots a latency against contenders, log-log: the median of each trial with
// samples enough, a whisker up to its 99th percentile, and below it the fitted slope. It
// is nil when no trial has the metric, or all have the same number of clients.
func Growth(s matrix.Scenario, metric, title string, glyphs Glyphs) *Figure {
	f := newFigure(short(metric)+"-by-clients", units.Capital(quantity(metric, title))+" by "+s.Noun()+"s",
		"The median of each trial; the whisker ends at the 99th percentile.")
	c := newCurves(f, len(s.Series), quantity(metric, title)+" p50, ns")
	var slopes []string
	for _, series := range s.Series {
		p50, whisk := growthPoints(series, metric)
		if len(p50) == 0 {
			continue
		}
		if words := trend(p50); words != "" {
			slopes = append(slopes, series.Label+" "+words)
		}
		c.add(curve{label: series.Label, glyph: glyphs.of(series.Label), at: p50, line: p50, size: glyphSize + 1, whiskers: whisk})
	}
	if !c.spread {
		return nil
	}
	c.scales(s, units.Tick)
	if len(slopes) > 0 {
		f.About += " Slope through the logarithms (0 is flat, 1 is twice the " + s.Noun() + "s, twice the time), with its 95 % confidence interval: " +
			units.Clean(strings.Join(slopes, "; ")) + "."
	}
	f.About += medians(s)
	f.yTitle = quantity(metric, title) + ", p50 to p99 (log scale)"
	return f
}

// trend is the slope in words; empty where there are too few points for one. An interval
// that holds 0 is no trend.
func trend(p50 []xy) string {
	fit, ok := fitLogLog(p50)
	switch {
	case !ok:
		return ""
	case fit.low <= 0 && fit.high >= 0:
		return "no trend seen"
	}
	return fmt.Sprintf("%s (%s to %s)", formatFixed(fit.slope, 2), formatFixed(fit.low, 2), formatFixed(fit.high, 2))
}

func growthPoints(s matrix.Series, metric string) ([]xy, whiskers) {
	var p50 []xy
	w := whiskers{highest: "p99"}
	for _, t := range s.Trials {
		m := t.Metrics[metric]
		if m.P50 == nil || *m.P50 <= 0 || m.Samples() < fewest {
			continue
		}
		p50 = append(p50, xy{float64(t.Clients), *m.P50})
		if m.P99 != nil && *m.P99 >= *m.P50 && !m.TooFew("p99") {
			w.add(float64(t.Clients), *m.P50, *m.P99)
		}
	}
	return p50, w
}
