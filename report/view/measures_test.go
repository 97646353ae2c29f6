package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestView_saysWhatAFlapCausesAndANotificationYields(t *testing.T) {
	trial := func(subject string, metrics map[string]metrics.Metric) report.Trial {
		return report.Trial{Name: subject, Cell: history.Cell{Scenario: "s", Subject: subject, Clients: 10}, Metrics: metrics}
	}
	got := strings.Join(found(
		trial("lock/parent", map[string]metrics.Metric{"flap.notifications": {Unit: "1/flap", Value: new(17.0), Expected: new(17.0)}}),
		trial("lock/predecessor", map[string]metrics.Metric{"flap.notifications": {Unit: "1/flap", Value: new(1.0)}}),
		trial("queue/parent", map[string]metrics.Metric{
			"queue.yield": {Unit: "1/notification", Value: new(0.25)}, "queue.requests": {Unit: "1/item", Value: new(30.0)}}),
	), "\n")
	for _, want := range []string{
		"At 10 contenders, a waiter of lock/parent that is gone for a moment causes 17 notifications (formula 17).",
		"At 10 contenders, a waiter of lock/predecessor that is gone for a moment causes 1 notification.",
		"At 10 consumers, queue/parent took 0.25 items for each notification and sent 30 requests for each item.",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it does not say %q, but\n%s", want, got)
		}
	}
}

// found lists the sentences about what trials measured.
func found(trials ...report.Trial) []string {
	var out []string
	for _, f := range Of(Input{Result: report.Result{Trials: trials}}).Of(Measures) {
		out = append(out, f.String())
	}
	return out
}

// A sentence has no 99th percentile that the table leaves out,
// because one of the trials has too few samples for it.
func TestView_hasNoQuantileOfFewSamples(t *testing.T) {
	trial := func(n int, count int64) report.Trial {
		return report.Trial{Name: fmt.Sprint("s-", n), Repetition: n, Cell: history.Cell{Scenario: "s", Subject: "lock/a", Clients: 3},
			Metrics: map[string]metrics.Metric{"handoff.latency": {Unit: "ns", Count: &count, P50: new(2e6), P99: new(9e6)}}}
	}
	for want, trials := range map[string][]report.Trial{
		"At 3 contenders, one hand-off of lock/a takes 2.00 ms (p50).":              {trial(1, 60), trial(2, 400)},
		"At 3 contenders, one hand-off of lock/a takes 2.00 ms (p50, p99 9.00 ms).": {trial(1, 100), trial(2, 400)},
	} {
		if got := found(trials...); !slices.Contains(got, want) {
			t.Errorf("it does not say %q, but %q", want, got)
		}
	}
}
