package scenarios

import (
	"testing"
	"time"
)

func TestCourse_left(t *testing.T) {
	churn := func(seconds int) *Scenario {
		return &Scenario{Phases: []Phase{{Kind: Churn, Duration: time.Duration(seconds) * time.Second}}}
	}
	ten := []Batch{{Cells: []Cell{{Scenario: churn(10)}, {Scenario: churn(10)}}}, {Cells: []Cell{{Scenario: churn(10)}, {Scenario: churn(10)}}}}
	for _, row := range []struct {
		about  string
		after  time.Duration
		trial  int
		behind float64
		least  time.Duration
		most   time.Duration
	}{
		{"nobody knows at once", time.Second, 0, 1, 0, 0},
		{"nobody knows while nothing is done", 10 * time.Second, 0, 0, 0, 0},
		{"a quarter is done: three times as long", 10 * time.Second, 0, 10.5, 30 * time.Second, 30 * time.Second},
		{"the trials before count as done", 20 * time.Second, 1, 10.5, 20 * time.Second, 20 * time.Second},
		{"a machine at half the speed takes twice as long", 20 * time.Second, 0, 10.5, 60 * time.Second, 60 * time.Second},
		{"the last moment", 40 * time.Second, 3, 10.4, time.Millisecond, time.Second},
		{"more effort than there was planned", 50 * time.Second, 3, 99, 0, 0},
		{"a trial that nobody planned", 50 * time.Second, 4, 1, 0, 0},
	} {
		t.Run(row.about, func(t *testing.T) {
			c, start := NewCourse(ten), time.Unix(100, 0)
			if c.Trials() != 4 {
				t.Fatalf("%d trials, want 4", c.Trials())
			}
			c.left(start, 0, 0)
			got := c.left(start.Add(row.after), row.trial, row.behind)
			if got < row.least || got > row.most {
				t.Errorf("left: %v, want %v to %v", got, row.least, row.most)
			}
		})
	}
}

func TestTelling_count(t *testing.T) {
	var s telling
	start := time.Unix(100, 0)
	s.count(start, 0)
	s.count(start.Add(500*time.Millisecond), 50)
	if s.status.Rate != 0 || s.status.Grants != 50 {
		t.Errorf("after half a second: %v a second of %d", s.status.Rate, s.status.Grants)
	}
	s.count(start.Add(2*time.Second), 200)
	if s.status.Rate != 100 {
		t.Errorf("200 grants in 2 s are %v a second", s.status.Rate)
	}
	s.count(start.Add(3*time.Second), 500)
	if s.status.Rate != 300 {
		t.Errorf("300 grants in the last second are %v a second", s.status.Rate)
	}
}
