package scenarios

import (
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

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
			s := &Scenario{Name: "s", Budget: time.Minute, ExtraTime: 30 * time.Second}
			e := repetitions{scenario: s, start: time.Now().Add(-row.elapsed), undecided: func(c history.Cell) (bool, error) {
				asked++
				return row.undecided, row.err
			}, log: func(string, ...any) { told++ }}
			for trial := range 2 {
				one := recipes.Subject{Name: []string{"lock/a", "lock/b"}[trial]} // they take turns in being first
				got, err := e.of([]cell{{Scenario: s, Subject: one, Clients: 5, Trial: 9 + 4*trial}})
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
	s := &Scenario{Name: "s", Budget: time.Minute, ExtraTime: time.Hour}
	e := repetitions{scenario: s, start: time.Now().Add(-2 * time.Minute), undecided: func(c history.Cell) (bool, error) { return c.Clients == 50, nil }}
	for clients, want := range map[int]bool{10: true, 50: false} {
		if got, err := e.of([]cell{{Scenario: s, Clients: clients, Trial: 9}}); got != want || err != nil {
			t.Errorf("%d clients: %v, %v", clients, got, err)
		}
	}
}
