package plot

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

type curve struct {
	label      string // of the series
	legendText string // empty: the label
	glyph      glyph
	at         []xy // the points
	all        []xy // all data, if at contains only a part of it
	line       []xy // through the points or, dashed, the formula
	dash       bool
	size       vg.Length // of the points
	whiskers
}

type curves struct {
	*Figure
	count    int // number of series that are shifted next to each other; 0: not shifted
	values   []float64
	drawn    int
	hasTrend bool // at least one line has points at two different x
}

func newCurves(f *Figure, count int, x, y string) *curves {
	f.data.x, f.data.y = x, y
	f.body.Add(horizontalGrid(), verticalGrid())
	return &curves{Figure: f, count: count}
}

// byClients adds to f a curve for each series that has points, against the number of clients. y is the
// head of the values in the data. curveOf returns the curve of a series; allZero means that all its values are 0,
// which a log axis cannot show: it then only has a legend entry.
func byClients(f *Figure, s matrix.Scenario, glyphs Glyphs, y string, tick func(float64) string,
	curveOf func(matrix.Series) (k curve, allZero bool)) *curves {
	c := newCurves(f, len(s.Series), s.Noun()+"s", y)
	for _, series := range s.Series {
		k, allZero := curveOf(series)
		k.label, k.glyph, k.size = series.Label, glyphs.of(series.Label), glyphSize+1
		if allZero {
			c.legend = append(c.legend, legendEntry{text: k.label + ": always 0", glyph: k.glyph, point: true})
		}
		if len(k.at) > 0 {
			c.add(k)
		}
	}
	countAxis(&f.body.X, s.Counts)
	f.body.X.Label.Text = f.data.x + " (log scale)"
	logAxis(&f.body.Y, c.values, tick)
	return c
}

func (c *curves) add(s curve) {
	for _, q := range slices.Concat(s.at, s.line, s.low, s.high) {
		c.values = append(c.values, q.y)
		c.hasTrend = c.hasTrend || q.x != s.at[0].x
	}
	c.legend = append(c.legend, legendEntry{text: cmp.Or(s.legendText, s.label), glyph: s.glyph, point: true, line: !s.dash})
	all := s.at
	if len(s.all) > 0 {
		all = s.all
	}
	c.data.add(s.label, all)
	if s.dash {
		c.data.add(s.label+" (formula)", s.line)
	}
	if s.lowest != "" {
		c.data.add(s.label+" ("+s.lowest+")", s.low)
	}
	if s.highest != "" {
		c.data.add(s.label+" ("+s.highest+")", s.high)
	}
	style := stroke(s.glyph.color, lineWidth)
	if s.dash {
		style = dashed(s.glyph.color, lineWidth)
	}
	shift := vg.Length(0)
	if c.count > 0 && c.count <= 7 { // so that equal values do not hide each other
		shift = (vg.Length(c.drawn) - vg.Length(c.count-1)/2) * 7
	}
	s.color, s.shift = s.glyph.color, shift
	c.body.Add(s.whiskers, line{at: s.line, style: style, shift: shift}, points{at: s.at, glyph: s.glyph, size: s.size, shift: shift})
	c.drawn++
}

func mergedNote(s matrix.Scenario) string {
	if slices.ContainsFunc(s.Trials(), func(t report.Trial) bool { return t.Merged > 0 }) {
		return " Repeated cells show the median of their trials, as in the tables."
	}
	return ""
}

// FanOut plots notifications per hand-off against contenders: measured points, and the formula as a dashed line.
func FanOut(s matrix.Scenario, glyphs Glyphs) *Figure {
	return notifications("fanout", "Notifications per hand-off", "hand-off",
		"The number of notifications that one hand-off (of a queue: one item) causes, counted on the wire. Points are measurements; "+
			"dashed lines show the formula of the recipe. A rising line shows a herd effect; a flat line means that only the next in line is notified.",
		s, metrics.FanoutNotifications, glyphs)
}

// Flap plots, against contenders, the notifications when one waiter loses its session and rejoins.
func Flap(s matrix.Scenario, glyphs Glyphs) *Figure {
	return notifications("flap", "Notifications when a waiter rejoins", "flap",
		"One waiter in the middle of the line loses its session and rejoins, while all other clients only wait: the number of "+
			"notifications that this causes, counted on the wire. Points are measurements; dashed lines show the formula of the recipe. "+
			"A rising line means that all others are notified when one client is disconnected briefly.",
		s, metrics.FlapNotifications, glyphs)
}

func notifications(name, title, per, about string, s matrix.Scenario, metric string, glyphs Glyphs) *Figure {
	f := newFigure(name, title, about)
	f.yTitle = "notifications per " + per + " (log scale)"
	formula := false
	c := byClients(f, s, glyphs, "notifications", units.TickNumber, func(series matrix.Series) (curve, bool) {
		k, measured := curve{dash: true}, false
		for _, t := range series.Trials {
			m := t.Metrics[metric]
			measured = measured || m.Value != nil
			if m.Value != nil && *m.Value > 0 {
				k.at = append(k.at, xy{float64(t.Clients), *m.Value})
			}
			if m.Expected != nil && *m.Expected > 0 {
				k.line = append(k.line, xy{float64(t.Clients), *m.Expected})
			}
		}
		formula = formula || len(k.at) > 0 && len(k.line) > 0
		return k, measured && len(k.at) == 0
	})
	if c.drawn == 0 {
		return nil
	}
	if formula {
		f.legend = append(f.legend, legendEntry{text: "formula", glyph: glyph{color: faint}, line: true, dash: true})
	}
	f.About += mergedNote(s)
	return f
}

// Growth plots a latency against contenders, log-log: the median of each trial with enough
// samples, and a whisker up to its 99th percentile. It returns nil if no trial has the metric, or all trials have the same number of clients.
func Growth(s matrix.Scenario, metric, title string, glyphs Glyphs) *Figure {
	what := quantity(metric, title)
	f := newFigure(firstPart(metric)+"-by-clients", units.Capital(what)+" by "+s.Noun()+"s",
		"Each point is the median of a trial; the whisker ends at the 99th percentile.")
	c := byClients(f, s, glyphs, what+" p50, ns", units.Tick, func(series matrix.Series) (curve, bool) {
		k := curve{whiskers: whiskers{highest: "p99"}}
		for _, t := range series.Trials {
			m := t.Metrics[metric]
			if m.P50 == nil || *m.P50 <= 0 || m.Samples() < minSamples {
				continue
			}
			k.at = append(k.at, xy{float64(t.Clients), *m.P50})
			if m.P99 != nil && *m.P99 >= *m.P50 && !m.TooFew("p99") {
				k.whiskers.add(float64(t.Clients), *m.P50, *m.P99)
			}
		}
		k.line = k.at
		return k, false
	})
	if !c.hasTrend {
		return nil
	}
	f.About += mergedNote(s)
	f.yTitle = what + ", p50 to p99 (log scale)"
	return f
}

// Capacity plots a phase with a rising rate of operations: their latency, from due, against the
// rate, and the capacity of each series. ramps returns the ramps of a trial. Capacity returns nil
// if there is no ramp of that phase with the given number of clients.
func Capacity(s matrix.Scenario, clients int, phase string, ramps func(trial string) []metrics.Ramp, glyphs Glyphs) *Figure {
	f := newFigure(fmt.Sprintf("capacity-%s-%d", phase, clients), fmt.Sprintf("Latency by arrival rate, %s", units.Plural(clients, "contender")),
		"Operations are due at a rising rate, whether or not the subject keeps up. Each point is the median latency of the operations that were due at about the same rate; "+
			"the whisker ends at the slowest. The dashed line is the capacity: the highest rate at which the backlog does not grow. Latency rises only after the rate "+
			"has exceeded it for some time, because a backlog must build up first. The capacity is measured while clients wait in line; a lock without waiters can be faster.")
	f.Clients = clients
	c := newCurves(f, 0, "due, 1/s", "latency p50, ns")
	most := 0.0
	var marks []line
	for _, series := range s.Series {
		r := rampsOf(series.At(clients), phase, ramps)
		at, whisk := r.points()
		if len(at) == 0 {
			continue
		}
		label, glyph := series.Label, glyphs.of(series.Label)
		if v, known := r.capacity(); known {
			label += " " + units.Quantity(v, "1/s")
			f.data.add(series.Label+" (capacity)", []xy{{v, 0}})
			marks = append(marks, line{at: []xy{{v, 0}, {v, 0}}, style: dashed(glyph.color, 1.2)})
		}
		most = max(most, at[len(at)-1].x)
		c.add(curve{label: label, glyph: glyph, at: at, line: at, size: glyphSize, whiskers: whisk})
	}
	if c.drawn == 0 {
		return nil
	}
	axisFromZero(&f.body.X, most, 0)
	f.body.X.Label.Text = "due per second"
	logAxis(&f.body.Y, c.values, units.Tick)
	f.yTitle = "latency from due, p50 to the slowest (log scale)"
	for _, m := range marks {
		m.at[0].y, m.at[1].y = f.body.Y.Min, f.body.Y.Max
		f.body.Add(m)
	}
	if len(marks) > 0 {
		f.legend = append(f.legend, legendEntry{text: "capacity", glyph: glyph{color: faint}, line: true, dash: true})
	}
	f.About += mergedNote(s.Merged())
	return f
}

type rampGroup []metrics.Ramp

func rampsOf(trials []report.Trial, phase string, ramps func(trial string) []metrics.Ramp) (out rampGroup) {
	for _, t := range trials {
		for _, r := range ramps(t.Name) {
			if r.Phase == phase {
				out = append(out, r)
			}
		}
	}
	return out
}

// points returns, for each rate, the medians over the trials.
func (g rampGroup) points() (at []xy, w whiskers) {
	w.highest = "slowest"
	p50, slowest := map[float64][]float64{}, map[float64][]float64{}
	for _, r := range g {
		for _, p := range r.Points {
			if p.P50 > 0 { // 0 has no place on a log axis
				p50[p.Rate], slowest[p.Rate] = append(p50[p.Rate], float64(p.P50)), append(slowest[p.Rate], float64(p.Max))
			}
		}
	}
	for _, rate := range slices.Sorted(maps.Keys(p50)) {
		mid, _ := stats.Middle(p50[rate])
		high, _ := stats.Middle(slowest[rate])
		at = append(at, xy{rate, mid})
		w.add(rate, mid, high)
	}
	return at, w
}

// capacity returns the median over the trials. It is unknown if a trial kept up to the end of its ramp.
func (g rampGroup) capacity() (float64, bool) {
	var all []float64
	for _, r := range g {
		if r.KeptUp {
			return 0, false
		}
		all = append(all, r.Capacity)
	}
	return stats.Middle(all)
}

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

// Trend plots a measure over runs, by start time. unit is the unit of a metrics.Metric.
func Trend(name, title, unit string, lines []Line, glyphs Glyphs) *Figure {
	title += unitSuffix(unit)
	f := newFigure("trend-"+name, title, "Each point is a run: the median of its trials, with its 95 % confidence interval if there are enough trials.")
	c := newCurves(f, len(lines), "start of the run, seconds since 1970", title)
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
	count, of, rate := strings.Cut(strings.Replace(unit, "handoff", "hand-off", 1), "/")
	switch {
	case unit == "" || unit == "1" || unit == "ns":
		return ""
	case !rate || of == "s":
		return ", " + unit
	}
	return ", " + strings.TrimPrefix(count+" per "+of, "1 ")
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
	var out plot.ConstantTicks
	for i := range marked {
		v := low + (high-low)*float64(i)/(marked-1)
		out = append(out, plot.Tick{Value: v, Label: time.UnixMilli(int64(v * 1000)).UTC().Format(layout)})
	}
	a.Tick.Marker = out
}

// Percentiles plots the quantiles of a latency that the tables show, one line per series, for one number of
// clients. The x axis stretches the tail: each nine has the same width. s must contain merged trials.
// It returns nil if no series has enough samples.
func Percentiles(s matrix.Scenario, clients int, metric, title string, glyphs Glyphs) *Figure {
	f := newFigure(fmt.Sprintf("%s-percentiles-%d", firstPart(metric), clients),
		fmt.Sprintf("%s by percentile, %s", units.Capital(quantity(metric, title)), units.Plural(clients, s.Noun())),
		"At 99 %, 99 of 100 operations took at most this long. Each line begins at the fastest and ends at the slowest operation.")
	f.Clients = clients
	c := newCurves(f, 0, "percentile", quantity(metric, title)+", ns")
	end := 1.0 // nines on the axis, at least one
	for _, series := range s.Series {
		for _, t := range series.At(clients) {
			m := t.Metrics[metric]
			at := quantiles(m)
			if len(at) == 0 || m.Samples() < minSamples {
				continue
			}
			var all []xy // with the percentage as x
			for _, q := range at {
				end = math.Max(end, q.x)
				all = append(all, xy{100 * (1 - math.Pow(10, -q.x)), q.y})
			}
			text := fmt.Sprintf("%s (%s)", series.Label, units.Plural(m.Samples(), "sample"))
			c.add(curve{label: series.Label, legendText: text, glyph: glyphs.of(series.Label), at: at, all: all, line: at, size: glyphSize})
		}
	}
	if c.drawn == 0 {
		return nil
	}
	f.About += mergedNote(s)
	f.body.X.Min, f.body.X.Max = 0, end
	f.body.X.Label.Text = "percentile"
	f.body.X.Tick.Marker = nineTicks(end)
	logAxis(&f.body.Y, c.values, units.Tick)
	f.yTitle = quantity(metric, title) + " (log scale)"
	return f
}

func firstPart(metric string) string {
	word, _, _ := strings.Cut(metric, ".")
	return word
}

func quantity(metric, title string) string {
	if strings.HasSuffix(metric, ".time") {
		return title + " time"
	}
	return title + " latency"
}

func nines(fraction float64) float64 { return -math.Log10(1 - fraction) }

func quantiles(m metrics.Metric) []xy {
	var out []xy
	for _, q := range []struct {
		fraction float64
		field    string
	}{{0, "min"}, {0.5, "p50"}, {0.9, "p90"}, {0.99, "p99"}, {0.999, "p999"}} {
		if v := m.Field(q.field); v != nil && *v > 0 && m.Samples() > 0 && !m.TooFew(q.field) {
			out = append(out, xy{nines(q.fraction), *v})
		}
	}
	if n := len(out); n > 0 && m.Max != nil && m.Count != nil {
		slowest := xy{nines(1 - 1/float64(*m.Count)), *m.Max}
		if slowest.x > out[n-1].x {
			out = append(out, slowest)
		}
	}
	return out
}

// minSamples is the smallest number of samples for which percentiles are meaningful.
const minSamples = 10

func nineTicks(end float64) plot.ConstantTicks {
	var out plot.ConstantTicks
	for _, fraction := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
		if at := nines(fraction); at <= end {
			out = append(out, plot.Tick{Value: at, Label: fmt.Sprintf("%.6g %%", 100*fraction)})
		}
	}
	return out
}
