package text

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// TestAnswers_fewSamples: a sentence has no 99th percentile that the table leaves out,
// because one of the trials has too few samples for it.
func TestAnswers_fewSamples(t *testing.T) {
	trial := func(n string, count int64) report.Trial {
		return report.Trial{Name: "s-" + n, Scenario: "s", Subject: "lock/a", Clients: 3, Params: map[string]string{history.ParamTrial: n},
			Metrics: map[string]report.Metric{"handoff.latency": {Unit: "ns", Count: &count, P50: new(2e6), P99: new(9e6)}}}
	}
	for want, trials := range map[string][]report.Trial{
		"At 3 contenders, one hand-off of lock/a takes 2.00 ms (p50).":              {trial("1", 60), trial("2", 400)},
		"At 3 contenders, one hand-off of lock/a takes 2.00 ms (p50, p99 9.00 ms).": {trial("1", 100), trial("2", 400)},
	} {
		if got := Answers(report.Result{Trials: trials}).Found; !slices.Contains(got, want) {
			t.Errorf("it does not say %q, but %q", want, got)
		}
	}
}
