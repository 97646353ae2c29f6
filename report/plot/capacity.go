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

// Capacity plots a phase with a rising rate of operations: their latency, from due, against the
// rate, and the capacity of each series. ramps returns the ramps of a trial. Capacity returns nil
// if there is no ramp of that phase with the given number of clients.
func Capacity(s matrix.Scenario, clients int, phase string, ramps func(trial string) []metrics.Ramp, glyphs Glyphs) *Figure {
	f := newFigure(fmt.Sprintf("capacity-%s-%d", phase, clients), fmt.Sprintf("Latency by arrival rate, %s", units.Plural(clients, "contender")),
		"Operations are due at a rising rate, whether or not the subject keeps up. Each point is the median latency of the operations that were due at about the same rate; "+
			"the whisker ends at the slowest. The dashed line is the capacity: the highest rate at which the backlog does not grow. Latency rises only after the rate "+
			"has exceeded it for some time, because a backlog must build up first. The capacity is that of a line with waiting clients, which can be slower than a free lock.")
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
	f.body.X.Label.Text = "due per second"
	logAxis(&f.body.Y, c.values, units.Tick)
	f.yTitle = "latency from due, p50 to the slowest (log scale)"
	for _, m := range marks {
		m.at[0].y, m.at[1].y = f.body.Y.Min, f.body.Y.Max
		f.body.Add(m)
	}
	if len(marks) > 0 {
		f.legend = append(f.legend, entry{text: "capacity", glyph: glyph{color: faint}, line: true, dash: true})
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
	var rates []float64
	for _, r := range g {
		for _, p := range r.Points {
			if p.P50 > 0 { // 0 has no place on a log axis
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

// capacity returns the median over the trials. It is unknown if a trial kept up to the end of
// its ramp.
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

func (g rampGroup) most() (rate float64) {
	for _, r := range g {
		for _, p := range r.Points {
			rate = max(rate, p.Rate)
		}
	}
	return rate
}
