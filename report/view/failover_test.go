package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestView_saysOfWhichTrialAPromiseHolds(t *testing.T) {
	trial := func(n int, longest float64) report.Trial {
		return report.Trial{Name: fmt.Sprint("f-", n), Repetition: n, Cell: history.Cell{Scenario: "f", Subject: "lock/a", Clients: 3, Params: map[string]string{"promise": "12s"}},
			Metrics: map[string]metrics.Metric{
				metrics.FailoverLatency: {Unit: "ns", Count: new(int64(3)), Max: &longest},
				metrics.FailoverOutside: {Unit: "1", Count: new(int64(3)), Value: new(0.0)},
			}}
	}
	got := found([]report.Trial{trial(1, 9e9), trial(2, 13e9)}...)
	for _, want := range []string{
		"The promise of 12.0 s was kept for lock/a at 3 contenders, trial 1 in every failover measured: the longest failover took 9.00 s.",
		"The promise of 12.0 s was broken for lock/a at 3 contenders, trial 2: the longest failover took 13.0 s.",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("it does not say %q, but %q", want, got)
		}
	}
}

// What is said of the phases is said once for all trials of a cell, and not of a queue
// whose items come at a rate.
func TestHeadlines_havePhasesOnceACell(t *testing.T) {
	trial := func(n int, subject string, calm float64) report.Trial {
		return report.Trial{Name: fmt.Sprint("s-", n), Repetition: n, Cell: history.Cell{Scenario: "s", Subject: subject, Clients: 3},
			Metrics: map[string]metrics.Metric{
				metrics.Throughput:            {Unit: "1/s", Value: new(calm)},
				metrics.Throughput + ".calm":  {Unit: "1/s", Phase: "calm", Value: new(calm)},
				metrics.Throughput + ".storm": {Unit: "1/s", Phase: "storm", Value: new(20.0)},
			}}
	}
	stream := trial(1, "queue/a", 50)
	stream.Metrics[metrics.QueueYield] = metrics.Metric{Unit: "1", Value: new(1.0)}
	got := headlines(trial(1, "lock/a", 40), trial(2, "lock/a", 60), trial(3, "lock/a", 50), stream)
	if want := "Grants per second, 3 contenders: lock/a 50/s (50 in calm, 20 in storm)."; !slices.Contains(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}

// A promise is kept by every failover, or nobody can say.
func TestPromises(t *testing.T) {
	for _, row := range []struct {
		max, predicted float64
		never          int64
		want           string
	}{
		{1e9, 2e9, 0, "The promise of 2.00 s was kept for lock/a at 0 contenders, and its predicted range ends within it"},
		{1e9, 3e9, 0, "The promise of 2.00 s was kept for lock/a at 0 contenders in every failover measured, but is not guaranteed: up to 3.00 s is predicted"},
		{3e9, 3e9, 1, "The promise of 2.00 s was broken for lock/a"},
		{1e9, 2e9, 1, "It is unknown whether the promise of 2.00 s holds for "},
	} {
		trial := report.Trial{Cell: history.Cell{Subject: "lock/a", Params: map[string]string{"promise": "2s"}},
			Metrics: map[string]metrics.Metric{metrics.FailoverLatency: {Unit: "ns", Max: &row.max, Never: row.never}, metrics.FailoverPredicted: {Unit: "ns", Value: &row.predicted}}}
		got := promiseTexts(matrix.Series{Label: "lock/a", Trials: []report.Trial{trial}})
		if len(got) != 1 || !strings.HasPrefix(got[0], row.want) {
			t.Errorf("%q, want %q", got, row.want)
		}
	}
}
