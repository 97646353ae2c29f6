package scenarios

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

// A drain costs what the formulas say, and a churn keeps every guarantee while a holder's session
// is closed; several hold at the same time, and readers as often as the mix says.
func TestShared_drainAndChurn(t *testing.T) {
	trials := runTrials(t, `
name: shared
subjects: [semaphore/parent, semaphore/predecessor, rwlock/parent, rwlock/predecessor]
clients: [6]
permits: 2
session_timeout: 4s
phases:
  - {name: drain, kind: drain, rounds: 1, hold: 0s}
  - name: churn
    kind: churn
    duration: 4s
    hold: 20ms
    faults:
      - {at: 300ms, fault: session.close, target: holder}
`)
	for _, trial := range trials {
		sound(t, trial)
		if m := value(t, trial, metrics.FanoutNotifications); m.Expected == nil || *m.Value != *m.Expected {
			t.Errorf("%s: %v notifications a hand-off, want %v", trial.Name, *m.Value, m.Expected)
		}
	}
}

func TestMode_followsTheMix(t *testing.T) {
	records := played(t, `{name: x, subjects: [rwlock/predecessor], clients: [4], session_timeout: 4s, mix: {read: 3, write: 1},
		phases: [{name: churn, kind: churn, duration: 5s, hold: 0s}]}`)
	count := map[string]int{}
	for _, r := range records {
		if s, ok := r.(*history.Sample); ok && s.Op == history.Acquire {
			count[s.Mode]++
		}
		if s, ok := r.(*history.Sample); ok && s.Op == history.Write && s.Token == 0 {
			t.Errorf("a write without a token: %+v", s)
		}
	}
	reads, writes := count[string(recipes.Read)], count[string(recipes.Write)]
	if all := reads + writes; all < 40 || reads < all/2 || writes < all/12 {
		t.Errorf("acquires by mode: %v, want 3 of 4 for reading", count)
	}
}

// The stages of a hand-off follow each other, and together they are the hand-off.
func TestDrain_recordsTheStagesOfEachHandoff(t *testing.T) {
	for _, subject := range []string{"lock/predecessor", "lock/parent", "lock/go-zookeeper", "semaphore/predecessor"} {
		records := played(t, fmt.Sprintf(`{name: x, subjects: [%s], clients: [6], session_timeout: 4s,
			phases: [{name: drain, kind: drain, rounds: 2, hold: 5ms}]}`, subject))
		ends, grants, stages := map[int]time.Duration{}, map[int]time.Duration{}, 0
		for _, r := range records {
			switch r := r.(type) {
			case *history.Sample:
				if r.Op == history.Release {
					ends[r.Client] = r.Call
				} else if r.Op == history.Acquire {
					grants[r.Client] = r.Return
				}
			case *history.Handoff:
				stages++
				all := []time.Duration{r.Released, r.Sent, r.Applied, r.Notified, r.Asked, r.Answered, r.Granted}
				if !slices.IsSorted(all) {
					t.Errorf("%s: %+v", subject, r)
				}
				if r.Released != ends[r.From] || r.Granted != grants[r.To] {
					t.Errorf("%s: from %v to %v, want %v to %v", subject, r.Released, r.Granted, ends[r.From], grants[r.To])
				}
			}
		}
		if least := 2 * (6 - 2 - 1); stages < least {
			t.Errorf("%s: %d hand-offs have stages, want %d or more", subject, stages, least)
		}
	}
}
