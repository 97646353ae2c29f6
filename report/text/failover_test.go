package text

import (
	"slices"
	"testing"

	"zkbench/report"
	"zkbench/report/history"
)

// TestAnswers_promise: the answer to each trial says which one it was.
func TestAnswers_promise(t *testing.T) {
	trial := func(n string, longest float64) report.Trial {
		return report.Trial{Name: "f-" + n, Scenario: "f", Subject: "lock/a", Clients: 3, Params: map[string]string{"promise": "12s", history.ParamTrial: n},
			Metrics: map[string]report.Metric{
				report.FailoverLatency: {Unit: "ns", Count: new(int64(3)), Max: &longest},
				report.FailoverOutside: {Unit: "1", Count: new(int64(3)), Value: new(0.0)},
			}}
	}
	got := Answers(report.Result{Trials: []report.Trial{trial("1", 9e9), trial("2", 13e9)}}).Found
	for _, want := range []string{
		"Yes, the promise of 12.0 s holds for lock/a at 3 contenders, trial 1: the longest failover took 9.00 s.",
		"No, the promise of 12.0 s does not hold for lock/a at 3 contenders, trial 2: the longest failover took 13.0 s.",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("it does not say %q, but %q", want, got)
		}
	}
}

// TestAnswers_phases: so does what is said of the phases of each.
func TestAnswers_phases(t *testing.T) {
	trial := func(n string) report.Trial {
		return report.Trial{Name: "s-" + n, Scenario: "s", Subject: "lock/a", Clients: 3, Params: map[string]string{history.ParamTrial: n},
			Metrics: map[string]report.Metric{
				report.Throughput + ".calm":  {Unit: "1/s", Phase: "calm", Value: new(40.0)},
				report.Throughput + ".storm": {Unit: "1/s", Phase: "storm", Value: new(20.0)},
			}}
	}
	got := Answers(report.Result{Trials: []report.Trial{trial("1"), trial("2")}}).Found
	if want := "Grants of lock/a at 3 contenders, trial 2: 40/s in calm and 20/s in storm."; !slices.Contains(got, want) {
		t.Errorf("it does not say %q, but %q", want, got)
	}
}
