package scenarios

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// reportsOf runs a scenario on the real ensemble and returns what each trial reported of
// itself, by its number, in order.
func reportsOf(t *testing.T, text string) (cells []cell, reports map[int][]Status) {
	t.Helper()
	s, err := Load(t.Name(), []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	batches, err := s.batches()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	reports = map[int][]Status{}
	r := runner{ensemble: ensemble, id: fmt.Sprintf("test-%d", runs.Add(1)), seed: 1, dir: t.TempDir(), estimate: newEstimate(batches)}
	r.progress = func(s Status) {
		mu.Lock()
		defer mu.Unlock()
		reports[s.Trial] = append(reports[s.Trial], s)
	}
	if err := r.run(t.Context(), s, batches[0], 0, len(batches[0].cells)); err != nil {
		t.Fatal(err)
	}
	return batches[0].cells, reports
}

// Whatever runs beside it, a trial reports itself: its subject, its number, counts
// that only grow, and in the end all of them.
func TestRunner_eachTrialReportsItself(t *testing.T) {
	for _, row := range []struct {
		about, text string
		grants      int64 // of each trial
		beside      bool
	}{
		{"trials that take turns", `{name: reported, subjects: [lock/go-zookeeper, lock/predecessor], base: lock/go-zookeeper,
			clients: [3], trials: 2, session_timeout: 4s, phases: [{name: drain, kind: drain, rounds: 20, hold: 1ms}]}`, 60, true},
		{"specimens of a zoo", `{name: reported, session_timeout: 4s, phases: [{name: provoke, kind: provoke, hold: 20ms}], specimens: [
			{subject: zoo/spin-lock, provocation: crowd, caught: [busy-loop]}, {subject: zoo/herd-lock, provocation: line, caught: [fan-out]},
			{subject: lock/parent, provocation: line}, {subject: lock/predecessor, provocation: line}]}`, 0, false},
	} {
		t.Run(row.about, func(t *testing.T) {
			cells, reports := reportsOf(t, row.text)
			if len(reports) != len(cells) {
				t.Errorf("%d trials reported, want %d", len(reports), len(cells))
			}
			for i, cell := range cells {
				all := reports[i+1]
				grows(t, all)
				for _, s := range all {
					if s.Subject != cell.Subject.Name || s.Trials != len(cells) {
						t.Errorf("trial %d of %d is of %s, want %d of %s", i+1, s.Trials, s.Subject, len(cells), cell.Subject.Name)
					}
				}
				last := all[len(all)-1]
				if !last.Over || row.grants > 0 && last.Grants != row.grants {
					t.Errorf("trial %d ends with %d grants (over: %v), want %d", i+1, last.Grants, last.Over, row.grants)
				}
				if first := i/2*2 + 1; row.beside && (last.First != first || last.Last != first+1 || !strings.Contains(last.Beside, " beside ")) {
					t.Errorf("trial %d runs among %q, %d to %d", i+1, last.Beside, last.First, last.Last)
				}
			}
		})
	}
}

// A rate is over a trial's own turns, which takes one clock for all that take turns.
func TestRunner_trialsThatTakeTurnsShareAClock(t *testing.T) {
	r, s := &runner{ensemble: ensemble}, &Scenario{Name: "reported"}
	cells := []cell{{Scenario: s, Trial: 1}, {Scenario: s, Trial: 1}}
	pair, next := r.group(cells, make([]plan, 2), 0, 4), r.group(cells, make([]plan, 2), 2, 4)
	clock := func(t *trial) *turnClock { return t.stage.status.turns }
	if clock(pair[0]) != clock(pair[1]) || clock(pair[0]) == clock(next[0]) {
		t.Error("want one clock for each two trials that take turns")
	}
}

// grows fails the test for a count that falls.
func grows(t *testing.T, all []Status) {
	t.Helper()
	if len(all) < 2 {
		t.Fatalf("reported %d times, want more", len(all))
	}
	for k, s := range all[1:] {
		before := all[k]
		if s.Grants < before.Grants || s.Wire.Requests.Total() < before.Wire.Requests.Total() || s.Wire.BytesIn < before.Wire.BytesIn {
			t.Errorf("trial %d goes back from %+v to %+v", s.Trial, before, s)
		}
		if before.Over {
			t.Errorf("trial %d reports after its end", s.Trial)
		}
	}
}
