package view

import (
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

// latencies contains the latency metrics, the most important first.
var latencies = metrics.Latencies()

// measuredLatencies returns the latencies that some trial has. It omits the acquire latency if
// there are hand-offs, unless acquires were due at a rate.
func measuredLatencies(trials []report.Trial) []metrics.Definition {
	has := func(metric string) bool {
		return slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Metrics[metric].P50 != nil })
	}
	open := slices.ContainsFunc(trials, func(t report.Trial) bool { return metrics.AtRate(t.Metrics) })
	return slices.DeleteFunc(slices.Clone(latencies), func(l metrics.Definition) bool {
		return !has(l.Name) || l.Name == metrics.AcquireLatency && has(metrics.HandoffLatency) && !open
	})
}

// reader returns a number of a trial, or nil if it was not measured.
type reader func(report.Trial) *float64

// field returns a reader of a metric's field; it returns nil for a quantile of too few samples.
func field(metric, name string) reader {
	return func(t report.Trial) *float64 { return fieldOf(t.Metrics[metric], name) }
}

func fieldOf(m metrics.Metric, name string) *float64 {
	if m.TooFew(name) {
		return nil
	}
	return m.Field(name)
}

// median returns the median over a series' trials with the given number of clients.
func median(x matrix.Series, clients int, metric, name string) (float64, bool) {
	return matrix.Median(x.At(clients), field(metric, name))
}
