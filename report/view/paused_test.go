package view

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestView_saysWhatAPausedHolderDid(t *testing.T) {
	of := func(value, count float64) metrics.Metric {
		return metrics.Metric{Unit: "1", Value: &value, Count: new(int64(count))}
	}
	long := func(ns float64, note string) metrics.Metric {
		return metrics.Metric{Unit: "ns", Count: new(int64(3)), P50: &ns, Max: &ns, Note: note}
	}
	trial := func(subject string, m map[string]metrics.Metric) report.Trial {
		return report.Trial{Name: subject, Cell: history.Cell{Scenario: "paused-holder", Subject: subject, Clients: 2}, Metrics: m}
	}
	got := found(trial("lock/a", map[string]metrics.Metric{
		metrics.PausedBelief: long(120e6, ""), metrics.PausedNotice: long(100e6, ""), metrics.PausedBlind: of(2, 3),
		metrics.PausedThrough: of(4, 5), metrics.PausedStopped: of(6, 6),
	}), trial("lock/b", map[string]metrics.Metric{
		metrics.PausedBelief: long(2e9, "in 3 rounds it was never told"), metrics.PausedBlind: of(3, 3), metrics.PausedStopped: of(9, 9),
	}))
	for _, want := range []string{
		"A holder of lock/a at 2 contenders that was paused beyond its session still believed for 120 ms (p50) after the next grant that it held, " +
			"and was notified 100 ms (p50) after it resumed. It wrote again before the notification in 2 of 3 rounds. " +
			"Of 5 late writes without a fence, 4 succeeded; the token rejected 6 of 6 fenced writes.",
		"A holder of lock/b at 2 contenders that was paused beyond its session still believed for 2.00 s (p50) after the next grant that it held, " +
			"and was never notified. Its driver does not implement write, so unfenced writes were not tested; the token rejected 9 of 9 fenced writes.",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("it does not say\n%q, but\n%q", want, got)
		}
	}
}
