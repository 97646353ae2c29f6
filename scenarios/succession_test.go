package scenarios

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// TestSuccession_passesToTheNextInLine is the classic case: 0, 1, 3, 4 and 2 leave in that order, and the
// leaders must be 0, 1, 2, 2, 2, 5, however they leave.
func TestSuccession_passesToTheNextInLine(t *testing.T) {
	trials := runTrials(t, `
name: succession
subjects: [election/parent, election/predecessor, lock/go-zookeeper]
clients: [8]
session_timeout: 4s
phases:
  - {name: close, kind: succession, rounds: 1, leave: close, order: [0, 1, 3, 4, 2], hold: 5ms}
  - {name: lose, kind: succession, rounds: 1, leave: lose, order: [0, 1, 3, 4, 2], hold: 5ms}
`)
	for _, trial := range trials {
		succeeded(t, trial, "close: leaders 0, 1, 2, 2, 2, 5", "lose: leaders 0, 1, 2, 2, 2, 5")
		if m := trial.Metrics[metrics.LeaderlessTime]; m.Count == nil || *m.Count != 6 {
			t.Errorf("%s: %v leaderless times, want one for each of 6 changes of leader", trial.Name, countOf(m.Count))
		}
	}
}

func TestSuccession_byResigning(t *testing.T) {
	trials := runTrials(t, `
name: succession
subjects: [election/parent, election/predecessor]
clients: [8]
session_timeout: 4s
phases:
  - {name: resign, kind: succession, rounds: 2, leave: resign, order: [0, 1, 3, 4, 2], hold: 5ms}
`)
	for _, trial := range trials {
		sound(t, trial)
		succeeded(t, trial, "resign: leaders 0, 1, 2, 2, 2, 5")
	}
}

func TestSuccession_byExpiry(t *testing.T) {
	trials := runTrials(t, `
name: succession
subjects: [election/predecessor]
clients: [3]
session_timeout: 1s
phases:
  - {name: expire, kind: succession, rounds: 1, leave: expire, order: [1, 0], hold: 5ms}
`)
	for _, trial := range trials {
		succeeded(t, trial, "expire: leaders 0, 0, 2")
		m := trial.Metrics[metrics.FailoverLatency]
		// The servers heard of the leader within the last third of its timeout of 1 s.
		if m.Min == nil || *m.Min < 0.6e9 {
			t.Errorf("the failover took %v, less than a session takes to run out", m.Min)
		}
	}
}

// succeeded checks the verdict of the succession, and what it says about each phase.
func succeeded(t *testing.T, trial report.Trial, reasons ...string) {
	t.Helper()
	for _, v := range trial.Verdicts {
		if v.Result == report.Fail {
			t.Errorf("%s: %s: %q", trial.Name, v.Guarantee, v.Reasons)
		}
		if v.Guarantee != verdict.Succession {
			continue
		}
		if got, want := strings.Join(v.Reasons, "; "), strings.Join(reasons, "; "); v.Result != report.Pass || got != want {
			t.Errorf("%s: succession is %s: %s; want %s", trial.Name, v.Result, got, want)
		}
		return
	}
	t.Errorf("%s: nobody judged the succession", trial.Name)
}

func countOf(n *int64) int64 {
	if n == nil {
		return 0
	}
	return *n
}
