package scenarios

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// On the wire and by the members' own counters.
func TestDeliver_wakesAsManyAsTheFormulaSays(t *testing.T) {
	trials := runTrials(t, `{name: deliver, subjects: [queue/parent, queue/predecessor], clients: [1, 4], session_timeout: 10s,
		phases: [{name: deliver, kind: drain, rounds: 2, size: 200, hold: 0s}]}`)
	for name, want := range map[string]float64{
		"deliver-queue-parent-1": 1, "deliver-queue-predecessor-1": 1,
		"deliver-queue-parent-4": 4, "deliver-queue-predecessor-4": 2,
	} {
		trial := trials[name]
		sound(t, trial)
		m := value(t, trial, metrics.FanoutNotifications)
		if *m.Value != want || m.Expected == nil || *m.Expected != want || m.Servers == nil || *m.Servers != want {
			t.Errorf("%s: %v notifications an item on the wire, %v by the members, formula %v; want %v", name, *m.Value, m.Servers, m.Expected, want)
		}
		if r := value(t, trial, metrics.FanoutRequests); *r.Value > *r.Expected {
			t.Errorf("%s: %v requests an item, the formula allows %v", name, *r.Value, *r.Expected)
		}
		if m, rated := trial.Metrics[metrics.Throughput]; rated {
			t.Errorf("%s: a throughput of %v, where the harness sets the pace", name, *m.Value)
		}
	}
}

// What the others do when one in the middle of the line is gone for a moment, on the wire and by the members' own counters.
func TestFlap_costsWhatTheFormulaSays(t *testing.T) {
	const flap = `{name: flap, subjects: [%s], clients: [%d], session_timeout: 10s, phases: [{name: flap, kind: flap, rounds: 2, hold: 0s}]}`
	trials := runTrials(t, fmt.Sprintf(flap, "lock/parent, lock/predecessor, election/parent, election/predecessor, "+
		"queue/parent, queue/predecessor, lock/go-zookeeper", 5))
	maps.Copy(trials, runTrials(t, fmt.Sprintf(flap, "lock/predecessor", 2))) // nobody stands behind the last in line
	for name, want := range map[string]float64{
		"flap-lock-parent-5": 7, "flap-lock-predecessor-5": 1, "flap-lock-go-zookeeper-5": 1,
		"flap-election-parent-5": 7, "flap-election-predecessor-5": 1,
		"flap-queue-parent-5": 0, "flap-queue-predecessor-5": 1, "flap-lock-predecessor-2": 0,
	} {
		trial := trials[name]
		sound(t, trial)
		m := value(t, trial, metrics.FlapNotifications)
		if *m.Value != want || m.Expected == nil || *m.Expected != want || m.Servers == nil || *m.Servers != want {
			t.Errorf("%s: %v notifications a flap on the wire, %v by the members, formula %v; want %v", name, *m.Value, m.Servers, m.Expected, want)
		}
		if trial.Formulas["flap"] == "" {
			t.Errorf("%s: nothing says in words what is expected", name)
		}
	}
}

// A drain costs what the formulas say, and a churn keeps every guarantee while sessions end: several hold at the same
// time, and members of a barrier are closed, expire and disconnect inside and outside.
func TestShared_drainAndChurn(t *testing.T) {
	for _, text := range []string{
		`{name: shared, subjects: [semaphore/parent, semaphore/predecessor, rwlock/parent, rwlock/predecessor],
			clients: [6], permits: 2, session_timeout: 4s, phases: [{name: drain, kind: drain, rounds: 1, hold: 0s},
				{name: churn, kind: churn, duration: 4s, hold: 20ms, faults: [{at: 300ms, fault: session.close, target: holder}]}]}`,
		`{name: meeting, subjects: [barrier/predecessor], clients: [4], session_timeout: 2s, tick: 200ms, phases: [
			{name: drain, kind: drain, rounds: 2, hold: 0s},
			{name: churn, kind: churn, duration: 7s, hold: 20ms, faults: [
				{at: 300ms, fault: session.close, target: holder},
				{at: 1500ms, fault: session.expire, target: random},
				{at: 5s, fault: session.flap, target: holder}]}]}`,
	} {
		for name, trial := range runTrials(t, text) {
			sound(t, trial)
			if m := value(t, trial, metrics.FanoutNotifications); m.Expected == nil || *m.Value != *m.Expected {
				t.Errorf("%s: %v notifications a hand-off or passage, want %v", name, *m.Value, m.Expected)
			}
			if strings.Contains(name, "barrier") {
				judged(t, trial, verdict.NoEarlyPassage, verdict.Pass)
			}
		}
	}
}

func TestMode_followsTheMix(t *testing.T) {
	t.Parallel()
	records := played(t, `{name: x, subjects: [rwlock/predecessor], clients: [4], session_timeout: 4s, mix: {read: 3, write: 1},
		phases: [{name: churn, kind: churn, duration: 5s, hold: 0s}]}`)
	count := map[string]int{}
	for _, s := range of[*history.Sample](records) {
		if s.Op == history.Acquire {
			count[s.Mode]++
		} else if s.Op == history.Write && s.Token == 0 {
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
	for _, file := range newRunner(t).play(t, `{name: x, subjects: [lock/predecessor, lock/parent, lock/go-zookeeper, semaphore/predecessor],
		clients: [6], session_timeout: 4s, phases: [{name: drain, kind: drain, rounds: 2, hold: 5ms}]}`) {
		subject := filepath.Base(file)
		ends, grants, stages := map[int]time.Duration{}, map[int]time.Duration{}, 0
		for _, r := range recordsOf(t, file) {
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
