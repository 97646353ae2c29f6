package plot

import (
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/report/units"
)

// Point is a run of a trend: a median and its confidence interval.
type Point struct {
	At                time.Time
	Median, Low, High float64 // Low and High are 0 if there is no interval
}

// Line is a series of a trend: one cell over several runs, by start time.
type Line struct {
	Label  string
	Points []Point
}

// Trend plots a measure over runs, by start time. unit is the unit of a metrics.Metric. It
// returns nil if there are no points.
func Trend(name, title, unit string, lines []Line, glyphs Glyphs) *Figure {
	title += unitSuffix(unit)
	f := newFigure("trend-"+name, title, "Each point is a run: the median of its trials, with its 95 % confidence interval if there are enough trials.")
	c := newCurves(f, len(lines), title)
	f.data.x = "start of the run, seconds since 1970"
	var starts []time.Time
	for _, l := range lines {
		var at []xy
		w := whiskers{lowest: "95 % from", highest: "95 % to"}
		for _, p := range l.Points {
			if !(p.Median > 0) || math.IsInf(p.Median, 0) {
				continue
			}
			starts = append(starts, p.At)
			x := unixSeconds(p.At)
			at = append(at, xy{x, p.Median})
			if p.Low > 0 {
				w.add(x, p.Low, p.High)
			}
		}
		if len(at) > 0 {
			c.add(curve{label: l.Label, glyph: glyphs.of(l.Label), at: at, line: at, size: glyphSize, whiskers: w})
		}
	}
	if c.drawn == 0 {
		return nil
	}
	timeAxis(&f.body.X, slices.MinFunc(starts, time.Time.Compare), slices.MaxFunc(starts, time.Time.Compare))
	tick := units.TickNumber
	f.yTitle = title + " (log scale)"
	if unit == "ns" {
		tick = units.Tick
		f.yTitle = title + " (log scale; each tick has its unit)"
	}
	logAxis(&f.body.Y, c.values, tick)
	return f
}

// unitSuffix returns the unit of a metrics.Metric as a suffix for the name of the measure: ", 1/s",
// ", per hand-off". It is empty for times, whose ticks contain "ms" or "s".
func unitSuffix(unit string) string {
	count, of, rate := strings.Cut(unit, "/")
	switch {
	case unit == "" || unit == "1" || unit == "ns":
		return ""
	case !rate || of == "s":
		return ", " + unit
	}
	if of == "handoff" {
		of = "hand-off"
	}
	if count == "1" {
		return ", per " + of
	}
	return ", " + count + " per " + of
}

func unixSeconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }

// timeAxis makes an axis linear, with labels that are dates, times if the range is less than two
// days, or both if a day has several ticks.
func timeAxis(a *plot.Axis, from, to time.Time) {
	low, high := unixSeconds(from), unixSeconds(to)
	if high-low < 600 {
		low, high = low-300, high+300
	}
	pad := (high - low) * 0.05
	a.Min, a.Max = low-pad, high+pad
	const marked, day = 6, 24 * 3600
	layout, label := "2006-01-02", "start of the run"
	switch {
	case high-low < 2*day:
		layout, label = "15:04", "start of the run, "+from.UTC().Format("2006-01-02")+" (UTC)"
	case high-low < marked*day:
		layout, label = "01-02 15:04", "start of the run, "+from.UTC().Format("2006")+" (UTC)"
	}
	a.Label.Text = label
	var out ticks
	for i := range marked {
		v := low + (high-low)*float64(i)/(marked-1)
		out = append(out, plot.Tick{Value: v, Label: time.UnixMilli(int64(v * 1000)).UTC().Format(layout)})
	}
	a.Tick.Marker = out
}
