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
		if age, ok := logAge(line, time.Now()); ok && (age < 0 || age >= zoneStep) {
			t.Errorf("%q: %v", line, age)
		}
	})
}
