package stage

import (
	"testing"
	"time"
)

func TestLogAge_inEveryTimeZone(t *testing.T) {
	now := time.Date(2026, 11, 21, 10, 0, 2, 500e6, time.UTC)
	for _, row := range []struct {
		name, line string
		want       time.Duration
		ok         bool
	}{
		{"as the local image logs", "2026-11-21 09:59:59.250 [SessionTracker] INFO ZooKeeperServer - ", 3250 * time.Millisecond, true},
		{"as the official image logs", "2026-11-21 10:00:02,400 [myid:1] - INFO  [SessionTracker:o.a.z.s.ZooKeeperServer@628] - ", 100 * time.Millisecond, true},
		{"in another time zone", "2026-11-21 15:30:02.000 [SessionTracker] INFO ZooKeeperServer - ", 500 * time.Millisecond, true},
		{"in Nepal", "2026-11-21 15:45:02.000 [SessionTracker] INFO ZooKeeperServer - ", 500 * time.Millisecond, true},
		{"without a time", "[SessionTracker] INFO ZooKeeperServer - ", 0, false},
	} {
		if got, ok := logAge(row.line, now); got != row.want || ok != row.ok {
			t.Errorf("%s: %v, %v; want %v, %v", row.name, got, ok, row.want, row.ok)
		}
	}
}

func FuzzLogAge(f *testing.F) {
	f.Add("2026-11-21 09:59:59.250 [SessionTracker]")
	f.Fuzz(func(t *testing.T, line string) {
		if age, ok := logAge(line, time.Now()); ok && (age < 0 || age >= zones) {
			t.Errorf("%q: %v", line, age)
		}
	})
}

func TestEstimate_left(t *testing.T) {
	start := time.Unix(100, 0)
	for _, row := range []struct {
		about  string
		ends   []int // of trials, in seconds
		now    int
		budget time.Duration
		want   time.Duration
	}{
		{"none has ended", nil, 10, 0, 0},
		{"as long as those before, for each", []int{8, 20}, 20, 0, 20 * time.Second},
		{"less what the current one has taken", []int{8, 20}, 26, 0, 14 * time.Second},
		{"longer than expected", []int{8, 20}, 60, 0, 0},
		{"all have ended", []int{8, 20, 30, 40}, 40, 0, 0},
		{"no trial begins after the budget", []int{8, 20}, 20, 15 * time.Second, 5 * time.Second},
	} {
		e := &Estimate{Trials: 4, Budget: row.budget, Start: start}
		for _, at := range row.ends {
			e.end(start.Add(time.Duration(at) * time.Second))
		}
		if got := e.left(start.Add(time.Duration(row.now) * time.Second)); got != row.want {
			t.Errorf("%s: %v, want %v", row.about, got, row.want)
		}
	}
}
