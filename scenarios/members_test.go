package scenarios

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
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

// While the members elect, nobody leads, and whoever asks is answered when somebody does.
func TestMembers_leaderIsAwaited(t *testing.T) {
	m := members{ensemble: ensemble}
	old, err := ensembles.Leader(t.Context(), ensemble)
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Machine.Pause(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := old.Machine.Resume(context.Background()); err != nil {
			t.Error(err)
		}
		if err := ensembles.WaitServing(context.Background(), ensemble); err != nil {
			t.Error(err)
		}
	}()
	leader, err := m.leader(t.Context())
	if err != nil || leader == old {
		t.Errorf("got %v, %v", leader, err)
	}
}

func TestEstimate_left(t *testing.T) {
	churn := func(seconds int) *Scenario {
		return &Scenario{Phases: []Phase{{Kind: "churn", Duration: time.Duration(seconds) * time.Second}}}
	}
	ten := []batch{{cells: []cell{{Scenario: churn(10)}, {Scenario: churn(10)}}}, {cells: []cell{{Scenario: churn(10)}, {Scenario: churn(10)}}}}
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
			c, start := newEstimate(ten), time.Unix(100, 0)
			if len(c.trials) != 4 {
				t.Fatalf("%d trials, want 4", len(c.trials))
			}
			c.left(start, 0, 0)
			for i := range row.trial {
				c.end(i)
			}
			got := c.left(start.Add(row.after), row.trial, row.behind).Round(time.Millisecond)
			if got < row.least || got > row.most {
				t.Errorf("left: %v, want %v to %v", got, row.least, row.most)
			}
		})
	}
}

// Trials that run beside each other do not end in order: what the first ones have ahead
// of them is ahead, whoever asks.
func TestEstimate_left_besideEachOther(t *testing.T) {
	s := &Scenario{Phases: []Phase{{Kind: "churn", Duration: 10 * time.Second}}}
	c, start := newEstimate([]batch{{cells: []cell{{Scenario: s}, {Scenario: s}, {Scenario: s}, {Scenario: s}}}}), time.Unix(100, 0)
	c.left(start, 0, 0)
	c.left(start, 1, 0)
	at := start.Add(10 * time.Second)
	c.left(at, 0, 5.25)
	if got := c.left(at, 1, 5.25); got.Round(time.Millisecond) != 30*time.Second {
		t.Errorf("two of four are half done: %v left, want 30s", got)
	}
	c.end(1)
	if got := c.left(at, 0, 5.25); got.Round(time.Second) != 17*time.Second {
		t.Errorf("one is done, one half: %v left, want about 17s", got)
	}
}

// A budget of a minute, forty trials of two subjects side by side, a second each.
func TestEstimate_left_budget(t *testing.T) {
	compared := func(clients, trials int) (cells []cell) {
		s := &Scenario{Base: "lock/a", Budget: time.Minute, Phases: []Phase{{Kind: "drain", Rounds: 10}}}
		for k := range trials {
			c := cell{Scenario: s, Clients: clients, Trial: k + 1}
			cells = append(cells, c, c)
		}
		return cells
	}
	one := compared(10, 40)
	two := append(compared(10, 40), compared(11, 40)...) // as much effort, about
	for _, row := range []struct {
		about  string
		cells  []cell
		after  time.Duration
		trials int // that have ended
		least  time.Duration
		most   time.Duration
	}{
		{"no more than what is left of the budget, and the pair that begins in it", one, 20 * time.Second, 20, 40 * time.Second, 42 * time.Second},
		{"nearly spent", one, 59 * time.Second, 59, 0, 3 * time.Second},
		{"the few that are run in any case go beyond it", one, 50 * time.Second, 5, 70 * time.Second, 75 * time.Second},
		{"of another count of clients as well", two, 50 * time.Second, 50, 20 * time.Second, 26 * time.Second},
		{"where it does not forbid anything it changes nothing", compared(10, 8), 8 * time.Second, 8, 7 * time.Second, 9 * time.Second},
	} {
		t.Run(row.about, func(t *testing.T) {
			c, start := newEstimate([]batch{{cells: row.cells}}), time.Unix(100, 0)
			c.left(start, 0, 0)
			for i := range row.trials {
				c.end(i)
			}
			got := c.left(start.Add(row.after), row.trials, 0).Round(time.Millisecond)
			if got < row.least || got > row.most {
				t.Errorf("left: %v, want %v to %v", got, row.least, row.most)
			}
		})
	}
}

func TestReporter_count(t *testing.T) {
	var s reporter
	count := func(over time.Duration, grants int64) {
		s.own += over
		s.count(grants)
	}
	count(0, 0)
	count(rateOver/2, 50)
	if s.status.Rate != 0 || s.status.Grants != 50 {
		t.Errorf("after half the time: %v a second of %d", s.status.Rate, s.status.Grants)
	}
	count(2*time.Second-rateOver/2, 200)
	if s.status.Rate != 100 {
		t.Errorf("200 grants in 2 s are %v a second", s.status.Rate)
	}
	count(time.Second, 500)
	if s.status.Rate != 300 {
		t.Errorf("300 grants in the last second are %v a second", s.status.Rate)
	}
}

// Two trials take turns of a second: what one does in its own is not divided by the
// time in which it waits.
func TestTurnClock_own(t *testing.T) {
	var f turnClock
	var fast, slow reporter
	now := time.Unix(100, 0)
	f.own(now)
	for turn := range int64(4) {
		for s, rate := range map[*reporter]int64{&fast: 100, &slow: 10} {
			for part := range int64(4) {
				now = now.Add(250 * time.Millisecond)
				s.own += f.own(now)
				s.count((4*turn + part + 1) * rate / 4)
			}
		}
	}
	if fast.status.Rate != 100 || slow.status.Rate < 9 || slow.status.Rate > 11 {
		t.Errorf("%v and %v grants a second, want 100 and 10", fast.status.Rate, slow.status.Rate)
	}
}
