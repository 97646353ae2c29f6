package plot

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Capacity plots a phase in which operations were due at a rate that rises: how long they
// took, from due, against that rate, and up to where each series kept up. ramps returns those
// of a trial. It is nil where there is none of that phase with so many clients.
func Capacity(s matrix.Scenario, clients int, phase string, ramps func(trial string) []metrics.Ramp, glyphs Glyphs) *Figure {
	f := newFigure(fmt.Sprintf("capacity-%s-%d", phase, clients), fmt.Sprintf("From due to done, as the rate rises, %s", units.Plural(clients, "contender")),
		"Operations are due at a rate that rises, whether or not the subject keeps up. Each point is the median of those that were due at about the same rate; "+
			"the whisker ends at the slowest. The dashed line is the highest rate that the subject keeps up with: beyond it more and more of them wait, and the ramp ends soon.")
	f.Clients = clients
	c := newCurves(f, 0, "latency p50, ns")
	f.data.x = "due, 1/s"
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
		most = max(most, r.most())
		c.add(curve{label: label, glyph: glyph, at: at, line: at, size: glyphSize, whiskers: whisk})
	}
	if c.drawn == 0 {
		return nil
	}
	axisFromZero(&f.body.X, most, 0)
	f.body.X.Label.Text = "due a second"
	logAxis(&f.body.Y, c.values, units.Tick)
	f.yTitle = "latency from due, p50 to the slowest (log scale)"
	for _, m := range marks {
		m.at[0].y, m.at[1].y = f.body.Y.Min, f.body.Y.Max
		f.body.Add(m)
	}
	if len(marks) > 0 {
		f.legend = append(f.legend, entry{text: "keeps up to here", glyph: glyph{color: faint}, line: true, dash: true})
	}
	f.About += medians(s.Merged())
	return f
}

// rampGroup is the ramps of a cell: one for each of its trials.
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

// points are the medians of what the trials have at each rate.
func (g rampGroup) points() (at []xy, w whiskers) {
	w.highest = "slowest"
	p50, slowest := map[float64][]float64{}, map[float64][]float64{}
	var rates []float64
	for _, r := range g {
		for _, p := range r.Points {
			if p.P50 > 0 { // else it has no place on a log axis
				rates = append(rates, p.Rate)
				p50[p.Rate], slowest[p.Rate] = append(p50[p.Rate], float64(p.P50)), append(slowest[p.Rate], float64(p.Max))
			}
		}
	}
	slices.Sort(rates)
	for _, rate := range slices.Compact(rates) {
		mid, _ := stats.Middle(p50[rate])
		high, _ := stats.Middle(slowest[rate])
		at = append(at, xy{rate, mid})
		w.add(rate, mid, high)
	}
	return at, w
}

// capacity is the median of the trials'; it is not known where one kept up to the end.
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

// most is the highest rate that was reached.
func (g rampGroup) most() (rate float64) {
	for _, r := range g {
		for _, p := range r.Points {
			rate = max(rate, p.Rate)
		}
	}
	return rate
}
