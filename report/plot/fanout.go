package plot

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/aclements/go-moremath/stats"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// depthPoints is the largest number of points of a line: more points than pixels only make the
// page slow.
const depthPoints = 1200

// QueueDepth plots the number of waiting items, with shaded fault windows. It returns nil if
// there is no data.
func QueueDepth(t Timeline) *Figure {
	if len(t.Depth) == 0 {
		return nil
	}
	var queued, due []xy
	most := 1
	for _, p := range t.Depth {
		queued, due = append(queued, xy{seconds(p.At), float64(p.Queued)}), append(due, xy{seconds(p.At), float64(p.Due)})
		most = max(most, p.Queued, p.Due)
	}
	f := t.overTime("depth", "Waiting items", "The number of items that are due but have not been taken, and how many of these are in the queue. The producers have not put the others yet.",
		due[0].x, due[len(due)-1].x)
	axisFromZero(&f.body.Y, float64(most), 1)
	f.yTitle = "items"
	f.data.y = "items"
	f.data.add("due and not taken", due)
	f.data.add("in the queue", queued)
	f.addSteps("due and not taken", palette[1], thin(due, depthPoints))
	f.addSteps("in the queue", palette[0], thin(queued, depthPoints))
	return f
}

// HoldersAtOnce plots how many clients hold at the same time, with shaded fault windows. It returns nil
// if at most one client may hold.
func HoldersAtOnce(t Timeline) *Figure {
	if t.Permits <= 1 || len(t.Holds) == 0 {
		return nil
	}
	reads := slices.ContainsFunc(t.Holds, func(h report.Hold) bool { return h.Reads })
	kinds := map[bool]string{false: "hold", true: "read"}
	if reads {
		kinds[false] = "write"
	}
	from, to := extent(t)
	f := t.overTime("holders", "Holders at once", "The number of clients that believe at the same time that they hold the grant.", from, to)
	most := 1.0
	for i, reading := range []bool{false, true} {
		line := holdersAtOnce(t.Holds, reading)
		if len(line) == 0 {
			continue
		}
		line = slices.Concat([]xy{{from, 0}}, line, []xy{{to, 0}})
		for _, q := range line {
			most = max(most, q.y)
		}
		f.data.add(kinds[reading], line)
		f.addSteps("clients that "+kinds[reading], palette[i], thin(line, depthPoints))
	}
	if t.Permits <= t.Clients {
		permits := float64(t.Permits)
		most = max(most, permits)
		f.body.Add(line{at: []xy{{from, permits}, {to, permits}}, style: dashed(ink, lineWidth)})
		f.legend = append(f.legend, entry{text: units.Plural(t.Permits, "permit"), glyph: glyph{color: ink}, line: true, dash: true})
	}
	axisFromZero(&f.body.Y, most, 1)
	f.yTitle, f.data.y = "holders", "holders"
	return f
}

// CountOverTime plots the largest count in each step of time, from the start of an observation. It
// returns nil if there is no time.
func CountOverTime(name, title, what string, step time.Duration, most []int) *Figure {
	if len(most) == 0 || step <= 0 {
		return nil
	}
	f := newFigure(name, title, "The largest number of "+what+" in each "+units.Duration(float64(step))+".")
	var at []xy
	for i, n := range most {
		at = append(at, xy{seconds(time.Duration(i) * step), float64(n)})
	}
	end := seconds(time.Duration(len(most)) * step)
	f.data.x, f.data.y = "seconds", what
	f.data.add(what, at)
	secondsAxis(&f.body.X, 0, end)
	f.body.X.Label.Text = "seconds since the start"
	f.body.Add(gridlines{y: true})
	f.addSteps("", palette[0], thin(append(at, xy{end, at[len(at)-1].y}), depthPoints))
	axisFromZero(&f.body.Y, float64(max(1, slices.Max(most))), 1)
	f.yTitle = what
	return f
}

// holdersAtOnce returns the number of holders, or of readers if reading is set, after each change.
func holdersAtOnce(holds []report.Hold, reading bool) (out []xy) {
	type change struct {
		at time.Duration
		by float64
	}
	var all []change
	for _, h := range holds {
		if h.Reads == reading {
			all = append(all, change{h.Start, 1}, change{h.End, -1})
		}
	}
	slices.SortStableFunc(all, func(a, b change) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	n := 0.0
	for _, c := range all {
		n += c.by
		out = append(out, xy{seconds(c.at), n})
	}
	return out
}

// FanOut plots notifications per hand-off against contenders: measured values as points, the
// formula as a dashed line. It returns nil if no trial counted them.
func FanOut(s matrix.Scenario, glyphs Glyphs) *Figure {
	f := newFigure("fanout", "Notifications per hand-off",
		"The number of notifications that one hand-off (of a queue: one item) causes, counted on the wire. Points are measurements; "+
			"dashed lines show the formula of the recipe. A rising line shows a herd effect; a flat line means that only the next in line is notified.")
	f.yTitle = "notifications per hand-off (log scale)"
	return f.notifications(s, metrics.FanoutNotifications, glyphs)
}

// Flap plots, against contenders, the number of notifications when one waiter loses its session
// and rejoins. It returns nil if no trial counted them.
func Flap(s matrix.Scenario, glyphs Glyphs) *Figure {
	f := newFigure("flap", "Notifications when a waiter rejoins",
		"One waiter in the middle of the line loses its session and rejoins, while all other clients only wait: the number of "+
			"notifications that this causes, counted on the wire. Points are measurements; dashed lines show the formula of the recipe. "+
			"A rising line means that all others are notified when one client is disconnected briefly.")
	f.yTitle = "notifications per flap (log scale)"
	return f.notifications(s, metrics.FlapNotifications, glyphs)
}

func (f *Figure) notifications(s matrix.Scenario, metric string, glyphs Glyphs) *Figure {
	c := newCurves(f, len(s.Series), "notifications")
	formula := false
	for _, series := range s.Series {
		glyph := glyphs.of(series.Label)
		measured, expected, none := fanOutPoints(series, metric)
		if none {
			c.addZero(series.Label, glyph)
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
	f.About += mergedNote(s)
	c.scales(s, units.TickNumber)
	return f
}

// fanOutPoints returns the points of a series without values of 0, which have no place on a log
// axis. none reports whether all measured values are 0.
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

// Growth plots a latency against contenders, log-log: the median of each trial with enough
// samples, a whisker up to its 99th percentile, and the fitted slope in the caption. It returns
// nil if no trial has the metric, or all trials have the same number of clients.
func Growth(s matrix.Scenario, metric, title string, glyphs Glyphs) *Figure {
	f := newFigure(firstPart(metric)+"-by-clients", units.Capital(quantity(metric, title))+" by "+s.Noun()+"s",
		"Each point is the median of a trial; the whisker ends at the 99th percentile.")
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
		f.About += " Slope of the logarithms (0: constant; 1: twice the " + s.Noun() + "s need twice the time), with its 95 % confidence interval: " +
			units.Clean(strings.Join(slopes, "; ")) + "."
	}
	f.About += mergedNote(s)
	f.yTitle = quantity(metric, title) + ", p50 to p99 (log scale)"
	return f
}

// trend describes the slope; it is empty if there are too few points. There is no trend if the
// interval contains 0.
func trend(p50 []xy) string {
	fit, ok := fitLogLog(p50)
	switch {
	case !ok:
		return ""
	case fit.low <= 0 && fit.high >= 0:
		return "no trend"
	}
	return fmt.Sprintf("%s (%s to %s)", formatFixed(fit.slope, 2), formatFixed(fit.low, 2), formatFixed(fit.high, 2))
}

func growthPoints(s matrix.Series, metric string) ([]xy, whiskers) {
	var p50 []xy
	w := whiskers{highest: "p99"}
	for _, t := range s.Trials {
		m := t.Metrics[metric]
		if m.P50 == nil || *m.P50 <= 0 || m.Samples() < minSamples {
			continue
		}
		p50 = append(p50, xy{float64(t.Clients), *m.P50})
		if m.P99 != nil && *m.P99 >= *m.P50 && !m.TooFew("p99") {
			w.add(float64(t.Clients), *m.P50, *m.P99)
		}
	}
	return p50, w
}

// slope is the exponent of the fitted curve y = c * x^slope, with its 95 % confidence interval.
type slope struct{ slope, low, high float64 }

// fitLogLog fits by least squares. It returns false if there are fewer than three different x,
// because there is no interval then.
func fitLogLog(pts []xy) (slope, bool) {
	distinct := map[float64]bool{}
	var n, sx, sy float64
	for _, p := range pts {
		if p.x <= 0 || p.y <= 0 {
			return slope{}, false
		}
		distinct[p.x] = true
		n, sx, sy = n+1, sx+math.Log(p.x), sy+math.Log(p.y)
	}
	if len(distinct) < 3 {
		return slope{}, false
	}
	mx, my := sx/n, sy/n
	var sxx, sxy float64
	for _, p := range pts {
		dx := math.Log(p.x) - mx
		sxx, sxy = sxx+dx*dx, sxy+dx*(math.Log(p.y)-my)
	}
	b := sxy / sxx
	var rest float64
	for _, p := range pts {
		r := math.Log(p.y) - my - b*(math.Log(p.x)-mx)
		rest += r * r
	}
	half := student95(int(n)-2) * math.Sqrt(rest/(n-2)/sxx)
	return slope{b, b - half, b + half}, true
}

// student95 returns the two-sided 95 % quantile of Student's t distribution.
func student95(freedom int) float64 {
	if freedom < 1 {
		return math.Inf(1)
	}
	return stats.InvCDF(stats.TDist{V: float64(freedom)})(0.975)
}
