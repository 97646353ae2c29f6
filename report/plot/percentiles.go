package plot

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// Distribution contains the latencies of one series with one number of clients, for the plot by
// percentile. Exact contains every sample of a single trial, in nanoseconds. If it is empty,
// because there are several trials or no history, the plot uses the quantiles of Summary.
type Distribution struct {
	Label   string
	Exact   []float64
	Summary metrics.Metric
	Trials  int // number of trials in Summary; 0 and 1 are equivalent
}

// Percentiles plots latency by percentile, one line per series, for one number of clients. The x
// axis stretches the tail: each nine has the same width. It returns nil if no series has enough
// samples.
func Percentiles(metric, title string, clients matrix.Count, dists []Distribution, glyphs Glyphs) *Figure {
	f := newFigure(fmt.Sprintf("%s-percentiles-%d", firstPart(metric), clients.N),
		fmt.Sprintf("%s by percentile, %s", units.Capital(quantity(metric, title)), clients),
		"At 99 %, 99 of 100 operations took at most this long. Each line ends at the slowest operation.")
	f.Clients = clients.N
	c := newCurves(f, 0, "percentile", quantity(metric, title)+", ns")
	end := 1.0 // nines on the axis, at least one
	repeated := false
	for _, d := range dists {
		at := d.curve()
		if len(at) == 0 || d.count() < minSamples {
			continue
		}
		var all []xy // with the percentage as x
		for _, q := range at {
			end = math.Max(end, q.x)
			all = append(all, xy{100 * (1 - math.Pow(10, -q.x)), q.y})
		}
		repeated = repeated || d.Trials > 1
		c.add(curve{label: d.Label, words: d.legend(), glyph: glyphs.of(d.Label), at: d.quantileMarkers(at), all: all, line: thin(d.line(at), 600), size: glyphSize})
	}
	if c.drawn == 0 {
		return nil
	}
	if repeated {
		f.About += " For repeated cells, each point is the median over the trials, as in the tables; the first and the last point are the extremes of all trials."
	}
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

func (d Distribution) curve() []xy {
	if len(d.Exact) == 0 {
		return d.quantiles()
	}
	var out []xy
	sorted := slices.Sorted(slices.Values(d.Exact))
	n := float64(len(sorted))
	for i, v := range sorted {
		if !(v > 0) || math.IsInf(v, 0) {
			continue
		}
		if len(out) == 0 {
			out = append(out, xy{nines(float64(i) / n), v})
		}
		// x is the fraction of samples that are at most v. The slowest sample would be at
		// 100 %, which has no place on the axis, so that it gets the x of the sample before it.
		out = append(out, xy{nines(math.Min(float64(i+1), n-1) / n), v})
	}
	return out
}

// line returns the line through the points of a curve: steps for samples, because nothing was
// measured between them, and straight segments for quantiles.
func (d Distribution) line(curve []xy) []xy {
	if len(d.Exact) == 0 {
		return curve
	}
	var out []xy
	for i, q := range curve {
		if i > 0 && q.y != curve[i-1].y {
			out = append(out, xy{curve[i-1].x, q.y})
		}
		out = append(out, q)
	}
	return out
}

func (d Distribution) quantiles() []xy {
	var out []xy
	m := d.Summary
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

func (d Distribution) count() int {
	if len(d.Exact) == 0 {
		return d.Summary.Samples()
	}
	return len(d.Exact)
}

func (d Distribution) legend() string {
	samples := units.Plural(d.count(), "sample")
	if d.Trials > 1 {
		samples += " of " + units.Plural(d.Trials, "trial")
	}
	return fmt.Sprintf("%s (%s)", d.Label, samples)
}

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

// quantileMarkers returns the points of a curve that have glyphs: the quantiles that the tables show, or
// else the quantiles of the curve.
func (d Distribution) quantileMarkers(curve []xy) []xy {
	if out := d.quantiles(); len(out) > 0 {
		return out
	}
	var out []xy
	for _, m := range percentileTicks {
		want := nines(m.fraction)
		i := slices.IndexFunc(curve, func(q xy) bool { return q.x >= want-1e-9 })
		if i >= 0 {
			out = append(out, curve[i])
		}
	}
	return append(out, curve[len(curve)-1])
}

// Latencies collects the distributions of a metric for one number of clients. exact returns the
// samples of a trial, or nil. Operations of several trials are never pooled, because operations
// of one trial are not independent; repeated trials are merged as in the tables (see
// [matrix.Merge]).
func Latencies(s matrix.Scenario, clients int, metric string, exact func(trial string) []float64) []Distribution {
	var out []Distribution
	for _, series := range s.Series {
		d := Distribution{Label: series.Label}
		at := slices.DeleteFunc(series.At(clients), func(t report.Trial) bool { return t.Metrics[metric].Count == nil })
		if len(at) == 1 {
			d.Exact = exact(at[0].Name)
		}
		d.Summary, d.Trials = matrix.Merge(at).Metrics[metric], len(at)
		out = append(out, d)
	}
	return out
}
