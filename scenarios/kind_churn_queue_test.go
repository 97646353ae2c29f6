package scenarios

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/zkbench/zkbench/report/metrics"
)

// TestExchange_everyItemIsTakenOnce: every item that is put is taken once, also while a session is lost.
func TestExchange_everyItemIsTakenOnce(t *testing.T) {
	trials := runTrials(t, `
name: exchange
subjects: [queue/parent, queue/predecessor]
clients: [4]
session_timeout: 4s
phases:
  - name: exchange
    kind: churn
    duration: 1500ms
    hold: 1ms
    faults:
      - {at: 300ms, fault: session.close, target: random}
`)
	for _, trial := range trials {
		sound(t, trial)
		if len(trial.Faults) != 1 || trial.Faults[0].Proof == "" {
			t.Errorf("%s: faults %+v, want one with a proof", trial.Name, trial.Faults)
		}
		if m := value(t, trial, metrics.Throughput); *m.Count < 10 {
			t.Errorf("%s: only %d items were taken", trial.Name, *m.Count)
		}
	}
}

func TestFill_keepsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9]{1,4}-[0-9]{1,9}`).Draw(t, "id")
		size := rapid.IntRange(0, 300).Draw(t, "size")
		item := fill(id, size)
		if got := identity(item); got != id {
			t.Fatalf("the identity of item %q reads %q", id, got)
		}
		if want := max(size, len(id)); len(item) != want {
			t.Fatalf("%d bytes, want %d", len(item), want)
		}
	})
	if got := identity(make([]byte, 1000)); len(got) != 64 {
		t.Errorf("the identity of a foreign item has %d bytes, want the first 64", len(got))
	}
}
