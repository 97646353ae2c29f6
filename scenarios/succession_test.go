package scenarios

import (
	"slices"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// The classic case: 0, 1, 3, 4 and 2 leave in that order, and the leaders must be 0, 1, 2, 2, 2, 5, however they leave.
func TestSuccession_passesToTheNextInLine(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: succession, subjects: [election/parent, election/predecessor, lock/go-zookeeper], clients: [8],
		session_timeout: 4s, phases: [
			{name: close, kind: succession, rounds: 1, leave: close, order: [0, 1, 3, 4, 2], hold: 5ms},
			{name: lose, kind: succession, rounds: 1, leave: lose, order: [0, 1, 3, 4, 2], hold: 5ms}]}`) {
		succeeded(t, trial, "close: leaders 0, 1, 2, 2, 2, 5", "lose: leaders 0, 1, 2, 2, 2, 5")
		if m := trial.Metrics[metrics.LeaderlessTime]; m.Count == nil || *m.Count != 6 {
			t.Errorf("%s: leaderless times %+v, want one for each of 6 changes of leader", trial.Name, m)
		}
	}
}

func TestSuccession_byResigning(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: succession, subjects: [election/parent, election/predecessor], clients: [8], session_timeout: 4s,
		phases: [{name: resign, kind: succession, rounds: 2, leave: resign, order: [0, 1, 3, 4, 2], hold: 5ms}]}`) {
		sound(t, trial)
		succeeded(t, trial, "resign: leaders 0, 1, 2, 2, 2, 5")
	}
}

func TestSuccession_byExpiry(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: succession, subjects: [election/predecessor], clients: [3], session_timeout: 1s,
		phases: [{name: expire, kind: succession, rounds: 1, leave: expire, order: [1, 0], hold: 5ms}]}`) {
		succeeded(t, trial, "expire: leaders 0, 0, 2")
		// The servers heard of the leader within the last third of its timeout of 1 s.
		if m := trial.Metrics[metrics.FailoverLatency]; m.Min == nil || *m.Min < 0.6e9 {
			t.Errorf("the failover took %v, less than a session takes to run out", m.Min)
		}
	}
}

// succeeded checks that nothing failed, and what the verdict of the succession says about each phase.
func succeeded(t *testing.T, trial report.Trial, reasons ...string) {
	t.Helper()
	nothingFailed(t, trial)
	v := verdictOn(trial, verdict.Succession)
	if v == nil || v.Result != report.Pass || !slices.Equal(v.Reasons, reasons) {
		t.Errorf("%s: succession is %+v; want %q", trial.Name, v, reasons)
	}
}
