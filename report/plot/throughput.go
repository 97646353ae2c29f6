package plot

import (
	"slices"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Throughput plots grants, or items taken, per second against contenders: the median of each
// cell's trials and, if there are several, a whisker from the lowest to the highest. s must
// contain all trials, not merged ones. It returns nil if all trials have the same number of
// clients, or all are open loops, whose throughput is the given rate; see [ThroughputOverTime].
func Throughput(s matrix.Scenario, glyphs Glyphs) *Figure {
	f := newFigure("throughput", "Throughput by "+s.Noun()+"s",
		"The number of grants, or of items taken, per second, in the phases in which the clients set the pace, including faults. "+
			"A falling line: the total throughput decreases with more "+s.Noun()+"s.")
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
