package scenarios

import (
	"testing"

	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// A drain costs what the formulas say; in a churn members are closed, expire and disconnect inside and
// outside, and every guarantee holds.
func TestBarrier_drainAndChurn(t *testing.T) {
	for _, trial := range runTrials(t, `
name: meeting
subjects: [barrier/predecessor]
clients: [4]
session_timeout: 2s
tick: 200ms
phases:
  - {name: drain, kind: drain, rounds: 2, hold: 0s}
  - name: churn
    kind: churn
    duration: 7s
    hold: 20ms
    faults:
      - {at: 300ms, fault: session.close, target: holder}
      - {at: 1500ms, fault: session.expire, target: random}
      - {at: 5s, fault: session.flap, target: holder}
`) {
		sound(t, trial)
		if m := value(t, trial, metrics.FanoutNotifications); m.Expected == nil || *m.Value != *m.Expected {
			t.Errorf("%s: %v notifications a passage, want %v", trial.Name, *m.Value, m.Expected)
		}
		passed := false
		for _, v := range trial.Verdicts {
			passed = passed || v.Guarantee == verdict.NoEarlyPassage && v.Result == verdict.Pass
		}
		if !passed {
			t.Errorf("%s: %v", trial.Name, trial.Verdicts)
		}
	}
}
