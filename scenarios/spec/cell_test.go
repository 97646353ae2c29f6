package spec

import (
	"testing"
	"time"
)

func TestScenario_spentAfterItsBudget(t *testing.T) {
	s := Scenario{Budget: time.Minute}
	for _, row := range []struct {
		about   string
		trial   int
		elapsed time.Duration
		want    bool
	}{
		{"within the budget", 9, 59 * time.Second, false},
		{"past it, another repetition is not begun", 7, 61 * time.Second, true},
		{"past it, the few that an interval takes are", 6, 61 * time.Second, false},
		{"past it, a cell that is run once is", 0, 61 * time.Second, false},
	} {
		if got := s.BudgetSpent([]Cell{{Trial: row.trial}}, row.elapsed); got != row.want {
			t.Errorf("%s: %v, want %v", row.about, got, row.want)
		}
	}
	if (&Scenario{}).BudgetSpent([]Cell{{Trial: 99}}, time.Hour) {
		t.Error("a budget that nobody gave is spent")
	}
}
