package plot

import (
	"math"
	"strings"
	"time"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/report/units"
)

// Point is one run in a trend: a median and its confidence interval.
type Point struct {
	At                time.Time
	Median, Low, High float64 // Low and High are 0 where there is no interval
}

// Line is one series of a trend: one cell over several runs, by start time.
type Line struct {
	Label  string
	Points []Point
}

// Trend plots a measure over runs, by the time at which they started. unit is that
// of a metrics.Metric. It is nil without points.
func Trend(name, title, unit string, lines []Line, glyphs Glyphs) *Figure {
	title += per(unit)
	f := newFigure("trend-"+name, title, "Each point is one run: the median of its trials, with its 95 % confidence interval where it has trials enough.")
	var values []float64
	var from, to time.Time
	var marks []func()
	for _, l := range lines {
		glyph := glyphs.of(l.Label)
		var at []xy
		shift := beside(len(marks), len(lines))
		w := whiskers{color: glyph.color, shift: shift}
		for _, p := range l.Points {
			if !(p.Median > 0) || math.IsInf(p.Median, 0) {
				continue
			}
			if from.IsZero() || p.At.Before(from) {
				from = p.At
			}
			if to.IsZero() || p.At.After(to) {
				to = p.At
			}
			x := unixSeconds(p.At)
			at, values = append(at, xy{x, p.Median}), append(values, p.Median)
			if p.Low > 0 {
				w.x, w.low, w.high = append(w.x, x), append(w.low, p.Low), append(w.high, p.High)
				values = append(values, p.Low, p.High)
			}
		}
		if len(at) == 0 {
			continue
		}
		f.legend = append(f.legend, entry{text: l.Label, glyph: glyph, point: true, line: true})
		marks = append(marks, func() {
			f.body.Add(w, line{at: at, style: stroke(glyph.color, lineWidth), shift: shift},
				points{at: at, glyph: glyph, size: glyphSize, shift: shift})
		})
	}
	if len(marks) == 0 {
		return nil
	}
	timeAxis(&f.body.X, from, to)
	logAxis(&f.body.Y, values, func(v float64) string {
		if unit == "ns" {
			return units.Tick(v)
		}
		return units.TickNumber(v)
	})
	f.yTitle = title + " (log scale)"
	if unit == "ns" {
		f.yTitle = title + " (log scale; each tick has its unit)"
	}
	f.body.Add(gridlines{x: true, y: true})
	for _, add := range marks {
		add()
	}
	return f
}

// per writes the unit of a metrics.Metric as it stands after the name of the measure:
// ", 1/s", ", per hand-off". Of a time it is nothing: its ticks say "ms" or "s".
func per(unit string) string {
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

// timeAxis is a linear axis of dates, of times where all is within two days, or of both
// where a day would have several ticks.
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
