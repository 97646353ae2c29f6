package view

import (
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

// latencies are the metrics of latencies, the most important first.
var latencies = metrics.Latencies()

// measuredLatencies returns those that one of the trials has. The wait in line of
// acquiring says little beside a hand-off, and is left to the table of metrics then, unless
// acquires were due at a rate.
func measuredLatencies(trials []report.Trial) []metrics.Definition {
	has := func(metric string) bool {
		return slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Metrics[metric].P50 != nil })
	}
	open := slices.ContainsFunc(trials, func(t report.Trial) bool { return metrics.AtRate(t.Metrics) })
	return slices.DeleteFunc(slices.Clone(latencies), func(l metrics.Definition) bool {
		return !has(l.Name) || l.Name == metrics.AcquireLatency && has(metrics.HandoffLatency) && !open
	})
}

// reader reads a number of a trial; nil where it was not measured.
type reader func(report.Trial) *float64

// field reads a number of a metric; nil also where it is a quantile of too few samples.
func field(metric, name string) reader {
	return func(t report.Trial) *float64 { return fieldOf(t.Metrics[metric], name) }
}

func fieldOf(m metrics.Metric, name string) *float64 {
	if m.TooFew(name) {
		return nil
	}
	return m.Field(name)
}

// median is the median of a series' trials at that many clients.
func median(x matrix.Series, clients int, metric, name string) (float64, bool) {
	return matrix.Median(x.At(clients), field(metric, name))
}
