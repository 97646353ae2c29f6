package plot

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"gonum.org/v1/plot/vg"
)

// Throughput plots grants, or items taken, per second against contenders: the median of each
// cell's trials and, if there are several, a whisker from the lowest to the highest. s must
// contain all trials, not merged ones. It returns nil if all trials have the same number of
// clients, or all are open loops, whose throughput is the given rate; see [ThroughputOverTime].
func Throughput(s matrix.Scenario, glyphs Glyphs) *Figure {
	f := newFigure("throughput", "Throughput by "+s.Noun()+"s",
		"The number of grants, or of items taken, per second, in the phases in which the clients set the pace. Times with active faults are included. "+
			"A falling line means that the total throughput decreases with more "+s.Noun()+"s.")
	c := newCurves(f, len(s.Series), "throughput, 1/s")
	repeated := false
	for _, series := range s.Series {
		glyph := glyphs.of(series.Label)
		medians, whisk, none := throughputPoints(s.Counts, series)
		if none {
			c.addZero(series.Label, glyph)
		}
		if len(medians) == 0 {
			continue
		}
		repeated = repeated || len(whisk.x) > 0
		c.add(curve{label: series.Label, glyph: glyph, at: medians, line: medians, size: glyphSize + 1, whiskers: whisk})
	}
	if !c.spread {
		return nil
	}
	c.scales(s, units.TickNumber)
	if repeated {
		f.About += " For repeated cells, the point is the median of the trials, and the whisker spans the lowest and the highest."
	}
	f.yTitle = "throughput, 1/s (log scale)"
	return f
}

// throughputPoints returns the points of a series without values of 0, which have no place on a
// log axis. none reports whether all values are 0.
func throughputPoints(counts []int, s matrix.Series) (medians []xy, w whiskers, none bool) {
	w.lowest, w.highest = "lowest", "highest"
	for _, n := range counts {
		var all []float64
		for _, t := range s.At(n) {
			if v := t.Metrics[metrics.Throughput].Value; v != nil && !metrics.AtRate(t.Metrics) {
				all = append(all, *v)
			}
		}
		if len(all) == 0 {
			continue
		}
		slices.Sort(all)
		x, low, mid, high := float64(n), all[0], all[(len(all)-1)/2], all[len(all)-1]
		if mid <= 0 {
			none = true
			continue
		}
		medians = append(medians, xy{x, mid})
		if low > 0 && low < high {
			w.add(x, low, high)
		}
	}
	return medians, w, none && len(medians) == 0
}

// overTimePoints is the largest number of glyphs in one plot over time: more are not
// distinguishable, and make the page slow.
const overTimePoints = 900

// OverTime plots the latency of each hand-off (of a queue: each delivery) at the time it ended,
// with shaded fault windows. It returns nil if the trial has no hand-offs.
func OverTime(t Timeline, glyphs Glyphs) *Figure {
	noun, latency, each := "hand-off", "hand-off latency", "Each point is a hand-off, shown at the time at which it ended."
	if t.Queue {
		noun, latency = "item", "delivery latency"
		each = "Each point is an item, shown at the time at which it was taken. Its latency is measured from the time at which it was due."
	}
	var plain, failover []xy
	var values []float64
	for _, h := range t.Handoffs {
		if h.Latency <= 0 {
			continue
		}
		q := xy{seconds(h.At), float64(h.Latency)}
		values = append(values, q.y)
		if h.Failover {
			failover = append(failover, q)
		} else {
			plain = append(plain, q)
		}
	}
	if len(values) == 0 {
		return nil
	}
	from, to := extent(t)
	pad := (to - from) * 0.012 // so that the first and last points do not touch the edges
	f := t.overTime("latency", units.Capital(latency), each, from-pad, to+pad)
	if t.Partial != "" {
		f.About += " The history is incomplete: " + units.Clean(t.Partial) + "."
	}
	logAxis(&f.body.Y, values, units.Tick)
	f.yTitle = latency + " (log scale)"
	f.data.y = latency + ", ns"
	f.addPoints(noun, plain, glyph{glyphs.of(t.Label).color, circle}, 2.4)
	f.addPoints("failover (a fault caused it)", failover, glyph{ink, triangle}, glyphSize)
	return f
}

func (f *Figure) addPoints(text string, pts []xy, l glyph, size vg.Length) {
	if len(pts) == 0 {
		return
	}
	slices.SortStableFunc(pts, func(a, b xy) int { return cmp.Compare(a.x, b.x) })
	shown := thin(pts, overTimePoints)
	f.data.add(text, pts)
	text += fmt.Sprintf(" (%s", units.Number(float64(len(pts))))
	if len(shown) < len(pts) {
		text += fmt.Sprintf(", %s shown, including every extreme", units.Number(float64(len(shown))))
	}
	f.legend = append(f.legend, entry{text: text + ")", glyph: l, point: true})
	f.body.Add(points{at: shown, glyph: l, size: size})
}

func extent(t Timeline) (from, to float64) {
	var at []float64
	for _, h := range t.Handoffs {
		at = append(at, seconds(h.At))
	}
	for _, b := range t.Holds {
		at = append(at, seconds(b.Start), seconds(b.End))
	}
	for _, w := range t.Faults {
		at = append(at, seconds(w.Start), seconds(max(w.Start, w.End)))
	}
	return slices.Min(at), slices.Max(at)
}
