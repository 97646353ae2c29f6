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
// acquiring says little beside a hand-off, and is left to the table of metrics then.
func measuredLatencies(trials []report.Trial) []metrics.Definition {
	has := func(metric string) bool {
		return slices.ContainsFunc(trials, func(t report.Trial) bool { return t.Metrics[metric].P50 != nil })
	}
	return slices.DeleteFunc(slices.Clone(latencies), func(l metrics.Definition) bool {
		return !has(l.Name) || l.Name == metrics.AcquireLatency && has(metrics.HandoffLatency)
	})
}

// reader reads a number of a trial; nil where it was not measured.
type reader func(report.Trial) *float64

func p50Of(metric string) reader {
	return func(t report.Trial) *float64 { return t.Metrics[metric].P50 }
}

func maxOf(metric string) reader {
	return func(t report.Trial) *float64 { return t.Metrics[metric].Max }
}

// p99Of reads the 99th percentile. Of fewer than 100 samples it is only the maximum.
func p99Of(metric string) reader {
	return func(t report.Trial) *float64 {
		m := t.Metrics[metric]
		if m.TooFew("p99") {
			return nil
		}
		return m.P99
	}
}

func valueOf(metric string) reader {
	return func(t report.Trial) *float64 { return t.Metrics[metric].Value }
}

func expectedOf(metric string) reader {
	return func(t report.Trial) *float64 { return t.Metrics[metric].Expected }
}

// median is the median of a series' trials at that many clients.
func median(x matrix.Series, clients int, read reader) (float64, bool) {
	return matrix.Median(x.At(clients), read)
}
