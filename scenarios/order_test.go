package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestScenario_cells_interleaved(t *testing.T) {
	for _, row := range []struct {
		about  string
		trials int
		want   string
	}{
		{"no trials given: each cell once", 0, "parent/5 predecessor/5 parent/9 predecessor/9"},
		{"one trial is the same as none given", 1, "parent/5 predecessor/5 parent/9 predecessor/9"},
		{"every second turn is reversed, inside each client count", 3,
			"parent/5#1 predecessor/5#1 predecessor/5#2 parent/5#2 parent/5#3 predecessor/5#3 " +
				"parent/9#1 predecessor/9#1 predecessor/9#2 parent/9#2 parent/9#3 predecessor/9#3"},
	} {
		t.Run(row.about, func(t *testing.T) {
			cells, err := shipped(t, "herd", "clients=[5, 9]", fmt.Sprintf("trials=%d", row.trials)).Cells()
			must(t, err)
			var got []string
			for _, c := range cells {
				one := fmt.Sprintf("%s/%d", strings.TrimPrefix(c.Subject.Name, "lock/"), c.Clients)
				if c.Trial > 0 {
					one += fmt.Sprintf("#%d", c.Trial)
				}
				got = append(got, one)
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("order\n%v, want\n%v", strings.Join(got, " "), row.want)
			}
		})
	}
}

func TestEnough(t *testing.T) {
	damaged := errors.New("cannot be read")
	for _, row := range []struct {
		about     string
		elapsed   time.Duration
		undecided bool
		err       error
		want      bool
		asked     int // in two groups of the cell
		told      int
	}{
		{"within the budget", 59 * time.Second, false, nil, false, 0, 0},
		{"past it, decided: asked once", 61 * time.Second, false, nil, true, 1, 0},
		{"past it, undecided: asked after every group, told once", 61 * time.Second, true, nil, false, 2, 1},
		{"past the extra time", 91 * time.Second, true, nil, true, 0, 0},
		{"what cannot be judged ends it", 61 * time.Second, false, damaged, false, 2, 0},
	} {
		t.Run(row.about, func(t *testing.T) {
			asked, told := 0, 0
			s := &spec.Scenario{Name: "s", Budget: time.Minute, ExtraTime: 30 * time.Second}
			e := repetitionPolicy{scenario: s, start: time.Now().Add(-row.elapsed), undecided: func(c history.Cell) (bool, error) {
				asked++
				return row.undecided, row.err
			}, log: func(string, ...any) { told++ }}
			for trial := range 2 {
				one := recipes.Subject{Name: []string{"lock/a", "lock/b"}[trial]} // they take turns in being first
				got, err := e.canSkip([]spec.Cell{{Scenario: s, Subject: one, Clients: 5, Trial: 9 + 4*trial}})
				if got != row.want || err != row.err {
					t.Errorf("%v, %v; want %v, %v", got, err, row.want, row.err)
				}
			}
			if asked != row.asked || told != row.told {
				t.Errorf("asked %d times, want %d; told %d times", asked, row.asked, told)
			}
		})
	}
}

func TestEnough_ofAnotherCellIsAskedAgain(t *testing.T) {
	s := &spec.Scenario{Name: "s", Budget: time.Minute, ExtraTime: time.Hour}
	undecided := func(c history.Cell) (bool, error) { return c.Clients == 50, nil }
	e := repetitionPolicy{scenario: s, start: time.Now().Add(-2 * time.Minute), undecided: undecided}
	for clients, want := range map[int]bool{10: true, 50: false} {
		if got, err := e.canSkip([]spec.Cell{{Scenario: s, Clients: clients, Trial: 9}}); got != want || err != nil {
			t.Errorf("%d clients: %v, %v", clients, got, err)
		}
	}
}

// sit plays trials of so many rounds side by side and returns who ran when.
func sit(ctx context.Context, rounds []int, at func(i, round int)) (log []string, errs []error) {
	seats := newTurns(len(rounds))
	errs = make([]error, len(rounds))
	var running int
	var wg sync.WaitGroup
	for i, n := range rounds {
		seat := seats[i]
		wg.Go(func() {
			defer seat.leave()
			if errs[i] = seat.acquire(ctx); errs[i] != nil {
				return
			}
			for round := range n {
				running++ // the race detector watches that only one is at it
				log = append(log, fmt.Sprintf("%c%d", 'a'+i, round))
				if at != nil {
					at(i, round)
				}
				running--
				if round < n-1 {
					if errs[i] = seat.yield(ctx); errs[i] != nil {
						return
					}
				}
			}
		})
	}
	wg.Wait()
	return log, errs
}

func TestTurns_goRound(t *testing.T) {
	for _, row := range []struct {
		about  string
		rounds []int
		want   string
	}{
		{"two trials alternate", []int{3, 3}, "a0 b0 a1 b1 a2 b2"},
		{"three trials go round", []int{2, 2, 2}, "a0 b0 c0 a1 b1 c1"},
		{"one that has fewer rounds leaves the others alone", []int{1, 3}, "a0 b0 b1 b2"},
		{"the last one has nobody to wait for", []int{3, 1, 2}, "a0 b0 c0 a1 c1 a2"},
		{"one alone just runs", []int{2}, "a0 a1"},
	} {
		t.Run(row.about, func(t *testing.T) {
			log, errs := sit(t.Context(), row.rounds, nil)
			if got := strings.Join(log, " "); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
			must(t, errors.Join(errs...))
		})
	}
}

func TestTurns_cancelled(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	log, errs := sit(ctx, []int{9, 9}, func(i, round int) {
		if i == 0 && round == 1 {
			cancel(stop)
		}
	})
	if len(log) > 4 { // who looked just before the cancellation may have one more round
		t.Errorf("%v ran on after the cancellation", log)
	}
	for i, err := range errs {
		if err != nil && !errors.Is(err, stop) {
			t.Errorf("trial %d: %v, want the cause", i, err)
		}
	}
	if errs[0] == nil && errs[1] == nil {
		t.Error("nobody learned of the cancellation")
	}
}

func TestGroups_standTogetherWhereTheyAreCompared(t *testing.T) {
	cells := []spec.Cell{
		{Clients: 5, Trial: 1}, {Clients: 5, Trial: 1}, {Clients: 5, Trial: 2}, {Clients: 5, Trial: 2},
		{Clients: 9, Trial: 1}, {Clients: 9, Trial: 1},
	}
	for _, row := range []struct {
		about, base string
		cells       []spec.Cell
		want        string
	}{
		{"with a base, what is compared stands together", "lock/a", cells, "2 2 2"},
		{"without a base, each runs by itself", "", cells, "1 1 1 1 1 1"},
		{"cells that are not repeated have no neighbours", "lock/a", []spec.Cell{{Clients: 5}, {Clients: 5}}, "1 1"},
	} {
		var got []string
		for _, g := range groups(row.cells, row.base) {
			got = append(got, fmt.Sprint(len(g)))
		}
		if strings.Join(got, " ") != row.want {
			t.Errorf("%s: groups of %v, want %s", row.about, got, row.want)
		}
	}
}

// A trial that panics ends the run in good order: what the others have measured is kept.
func TestSideBySide_aPanicIsAnErrorOfItsTrial(t *testing.T) {
	refused(t, runAlternating(t.Context(), []*trial{{name: "torn"}}), "trial torn: panic: ") // it has no stage
}
