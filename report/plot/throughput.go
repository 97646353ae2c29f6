package plot

import (
	"slices"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Throughput plots grants, or items taken, a second against contenders: the median of
// each cell's trials and, where there are several, a whisker from the lowest to the
// highest. The scenario has all of its trials, not merged ones. It is nil when all have
// the same number of clients, or none has a throughput of its own making: in an open
// loop it is the rate at which operations were due. [ThroughputOverTime] says more then.
func Throughput(s matrix.Scenario, glyphs Glyphs) *Figure {
	f := newFigure("throughput", "Throughput by "+s.Noun()+"s",
		"How many grants were had, or items taken, a second, in the phases in which the clients set the pace; faults in them count. "+
			"A line that falls: more "+s.Noun()+"s get less done together.")
	c := newCurves(f, len(s.Series), "throughput, 1/s")
	repeated := false
	for _, series := range s.Series {
		glyph := glyphs.of(series.Label)
		medians, whisk, none := throughputPoints(s.Counts, series)
		if none {
			c.none(series.Label, glyph)
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
		f.About += " Where a cell was repeated, the point is the median of its trials, and the whisker goes from the lowest to the highest."
	}
	f.yTitle = "throughput, 1/s (log scale)"
	return f
}

// throughputPoints reads a series. Values of 0 have no place on a log axis; none says
// that it was 0 everywhere.
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
