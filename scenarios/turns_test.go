package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

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
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
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
	cells := []cell{
		{Clients: 5, Trial: 1}, {Clients: 5, Trial: 1}, {Clients: 5, Trial: 2}, {Clients: 5, Trial: 2},
		{Clients: 9, Trial: 1}, {Clients: 9, Trial: 1},
	}
	for _, row := range []struct {
		about, base string
		cells       []cell
		want        string
	}{
		{"with a base, what is compared stands together", "lock/a", cells, "2 2 2"},
		{"without a base, each runs by itself", "", cells, "1 1 1 1 1 1"},
		{"cells that are not repeated have no neighbours", "lock/a", []cell{{Clients: 5}, {Clients: 5}}, "1 1"},
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
	err := sideBySide(t.Context(), []*trial{{name: "torn"}}) // it has no stage
	if err == nil || !strings.Contains(err.Error(), "trial torn: panic: ") {
		t.Errorf("%v", err)
	}
}
