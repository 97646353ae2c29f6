package recipes

import (
	"strconv"
	"strings"
	"testing"
)

func find(t *testing.T, name string) Subject {
	t.Helper()
	s, err := Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// The words are held to the numbers where the words are a number.
func TestFormulas_sayWhatTheyCount(t *testing.T) {
	for _, s := range Subjects() {
		f := s.Formulas
		for of, text := range f.Text {
			text, _, _ := strings.Cut(text, ":")
			var want int64
			switch of {
			case "hand-off":
				want = f.Drain(10, 10).Notifications / 9
			case "item":
				want = f.Deliver(10, 1).Notifications
			case "flap":
				leave, back := f.Flap(10, 4)
				want = leave + back
			}
			said := map[string]int64{"N": 10, "(N+2)/2 on average while N contenders drain": 6, "2N-3": 17}
			got, known := said[text]
			if !known {
				n, err := strconv.Atoi(text)
				if err != nil {
					t.Fatalf("%s: %q is no number", s.Name, text)
				}
				got = int64(n)
			}
			if got != want {
				t.Errorf("%s, %s: the words say %d with 10 clients, the formula %d", s.Name, of, got, want)
			}
		}
	}
}

func TestFormulas_countAFlap(t *testing.T) {
	for _, row := range []struct {
		about, subject string
		n, behind      int
		leave, back    int64
	}{
		{"with parent watches a flap wakes all who wait, twice", "lock/parent", 10, 4, 9, 8},
		{"an election is no different", "election/parent", 10, 4, 9, 8},
		{"with predecessor watches it wakes the one behind", "election/predecessor", 10, 4, 1, 0},
		{"the last in line has nobody behind", "lock/predecessor", 10, 0, 0, 0},
		{"go-zookeeper's lock is no different", "lock/go-zookeeper", 10, 4, 1, 0},
		{"idle consumers that watch items do not see each other", "queue/parent", 10, 4, 0, 0},
		{"consumers in line do", "queue/predecessor", 10, 4, 1, 0},
		{"one alone wakes nobody, the herd", "lock/parent", 1, 0, 0, 0},
		{"one alone wakes nobody", "lock/predecessor", 1, 0, 0, 0},
	} {
		t.Run(row.about, func(t *testing.T) {
			if leave, back := find(t, row.subject).Formulas.Flap(row.n, row.behind); leave != row.leave || back != row.back {
				t.Errorf("%d and %d, want %d and %d", leave, back, row.leave, row.back)
			}
		})
	}
}
