package scenarios

import (
	"fmt"
	"strings"
	"testing"
	"time"
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
			s := shipped(t, "herd", "clients=[5, 9]", fmt.Sprintf("trials=%d", row.trials))
			cells, err := s.cells()
			if err != nil {
				t.Fatal(err)
			}
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

func TestScenario_Validate_trials(t *testing.T) {
	for _, row := range []struct {
		about string
		set   []string
		want  string // in the error; empty when it is valid
	}{
		{"two subjects, ten trials, a base", []string{"trials=10", "base=lock/parent"}, ""},
		{"repeating needs no base", []string{"trials=10"}, ""},
		{"a negative number of trials", []string{"trials=-1"}, "trials: -1 is not between"},
		{"a base that is misspelt", []string{"trials=10", "base=lock/parnet"}, `did you mean "lock/parent"`},
		{"a base that is no subject of the run", []string{"trials=10", "base=lock/go-zookeeper"}, "lock/go-zookeeper is not among the subjects"},
		{"a base with nothing beside it", []string{"trials=10", "base=lock/parent", "subjects=[lock/parent]"}, "no other subject"},
		{"a budget that cuts repetitions short", []string{"trials=10", "budget=30s"}, ""},
		{"a budget with nothing to cut", []string{"trials=3", "budget=30s"}, "needs more trials"},
		{"a budget below nothing", []string{"trials=10", "budget=-1s"}, "budget: -1s is not between"},
		{"a base without trials", []string{"base=lock/parent"}, "takes several trials"},
	} {
		t.Run(row.about, func(t *testing.T) {
			name, text, err := Source("herd")
			if err != nil {
				t.Fatal(err)
			}
			_, err = Load(name, text, row.set...)
			switch {
			case row.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("error %v, want one that says %q", err, row.want)
			}
		})
	}
}

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
		if got := s.spent([]cell{{Trial: row.trial}}, row.elapsed); got != row.want {
			t.Errorf("%s: %v, want %v", row.about, got, row.want)
		}
	}
	if (&Scenario{}).spent([]cell{{Trial: 99}}, time.Hour) {
		t.Error("a budget that nobody gave is spent")
	}
}
