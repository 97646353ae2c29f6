package plot

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Percentiles plots the quantiles of a latency that the tables show, one line per series, for one number of
// clients. The x axis stretches the tail: each nine has the same width. s must contain merged trials.
// It returns nil if no series has enough samples.
func Percentiles(s matrix.Scenario, clients matrix.Count, metric, title string, glyphs Glyphs) *Figure {
	f := newFigure(fmt.Sprintf("%s-percentiles-%d", firstPart(metric), clients.N),
		fmt.Sprintf("%s by percentile, %s", units.Capital(quantity(metric, title)), clients),
		"At 99 %, 99 of 100 operations took at most this long. Each line begins at the fastest and ends at the slowest operation.")
	f.Clients = clients.N
	c := newCurves(f, 0, "percentile", quantity(metric, title)+", ns")
	end := 1.0 // nines on the axis, at least one
	for _, series := range s.Series {
		for _, t := range series.At(clients.N) {
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

var percentileTicks = []struct {
	fraction float64
	label    string
}{{0, "0 %"}, {0.5, "50 %"}, {0.9, "90 %"}, {0.99, "99 %"}, {0.999, "99.9 %"}, {0.9999, "99.99 %"}, {0.99999, "99.999 %"}}

func nineTicks(end float64) plot.ConstantTicks {
	var out plot.ConstantTicks
	for _, m := range percentileTicks {
		if nines(m.fraction) <= end {
			out = append(out, plot.Tick{Value: nines(m.fraction), Label: m.label})
		}
	}
	return out
}
