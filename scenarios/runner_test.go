package scenarios

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// toldBy runs a scenario on the real ensemble and returns what each trial told of
// itself, by its number, in order.
func toldBy(t *testing.T, text string) (cells []Cell, told map[int][]Status) {
	t.Helper()
	s, err := Load(t.Name(), []byte(text), nil)
	if err != nil {
		t.Fatal(err)
	}
	batches, err := s.Batches()
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	told = map[int][]Status{}
	lab := Lab{Ensemble: ensemble, RunID: fmt.Sprintf("test-%d", runs.Add(1)), Seed: 1, Dir: t.TempDir(), Course: NewCourse(batches)}
	lab.Progress = func(s Status) {
		mu.Lock()
		defer mu.Unlock()
		told[s.Trial] = append(told[s.Trial], s)
	}
	if err := lab.Run(t.Context(), s, batches[0], 0, len(batches[0].Cells)); err != nil {
		t.Fatal(err)
	}
	return batches[0].Cells, told
}

// Whatever runs beside it, a trial tells of itself: its subject, its number, counts
// that only grow, and in the end all of them.
func TestLab_Run_eachTrialTellsOfItself(t *testing.T) {
	for _, row := range []struct {
		about, text string
		grants      int64 // of each trial
		beside      bool
	}{
		{"trials that take turns", `{name: told, subjects: [lock/go-zookeeper, lock/predecessor], base: lock/go-zookeeper,
			clients: [3], trials: 2, session_timeout: 4s, phases: [{name: drain, kind: drain, rounds: 20, hold: 1ms}]}`, 60, true},
		{"specimens of a zoo", `{name: told, session_timeout: 4s, phases: [{name: provoke, kind: provoke, hold: 20ms}], specimens: [
			{subject: zoo/spin-lock, provocation: crowd, caught: [busy-loop]}, {subject: zoo/herd-lock, provocation: line, caught: [fan-out]},
			{subject: lock/parent, provocation: line}, {subject: lock/predecessor, provocation: line}]}`, 0, false},
	} {
		t.Run(row.about, func(t *testing.T) {
			cells, told := toldBy(t, row.text)
			if len(told) != len(cells) {
				t.Errorf("%d trials told of themselves, want %d", len(told), len(cells))
			}
			for i, cell := range cells {
				all := told[i+1]
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

// A rate is over a trial's own turns, which takes one floor for all that take turns.
func TestLab_beside(t *testing.T) {
	lab, s := &Lab{Ensemble: ensemble}, &Scenario{Name: "told"}
	cells := []Cell{{Scenario: s, Trial: 1}, {Scenario: s, Trial: 1}}
	pair, next := lab.beside(cells, 0, 4), lab.beside(cells, 2, 4)
	if pair[0].telling.floor != pair[1].telling.floor || pair[0].telling.floor == next[0].telling.floor {
		t.Error("want one floor for each two trials that take turns")
	}
}

// grows fails the test for a count that falls.
func grows(t *testing.T, all []Status) {
	t.Helper()
	if len(all) < 2 {
		t.Fatalf("told %d times, want more", len(all))
	}
	for k, s := range all[1:] {
		before := all[k]
		if s.Grants < before.Grants || s.Wire.Requests.Total() < before.Wire.Requests.Total() || s.Wire.BytesIn < before.Wire.BytesIn {
			t.Errorf("trial %d goes back from %+v to %+v", s.Trial, before, s)
		}
		if before.Over {
			t.Errorf("trial %d tells of itself after its end", s.Trial)
		}
	}
}
