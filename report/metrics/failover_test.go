package metrics

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// crashed is a round in which a holder crashed at 10 s, was heard last at 9 s with a
// timeout of 4 s, and was followed at 14.1 s, unless edited.
func crashed(edit func(r *history.Failover)) *history.Failover {
	r := &history.Failover{At: 15 * time.Second, Phase: "crash", Round: 1, Cause: "crash", Timeout: 4 * time.Second,
		Injected: 10 * time.Second, LastRequest: 9 * time.Second, Expired: 14 * time.Second,
		Committed: 14050 * ms, Notified: 14080 * ms, Granted: 14100 * ms,
		Least: 3 * time.Second, Most: 8 * time.Second, Mean: 5 * time.Second, Expires: true}
	if edit != nil {
		edit(r)
	}
	return r
}

func TestFailover_stages(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(r *history.Failover)
		want map[string]time.Duration
	}{
		{"every stage was seen", nil, map[string]time.Duration{FailoverDetect: 3 * time.Second, FailoverExpire: time.Second,
			FailoverCommit: 50 * ms, FailoverNotify: 30 * ms, FailoverRelist: 20 * ms}},
		{"nobody saw it expire", func(r *history.Failover) { r.Expired = 0 }, map[string]time.Duration{FailoverExpire: 4050 * ms,
			FailoverNotify: 30 * ms, FailoverRelist: 20 * ms}},
		{"nobody saw the notification", func(r *history.Failover) { r.Notified = 0 }, map[string]time.Duration{FailoverDetect: 3 * time.Second,
			FailoverExpire: time.Second, FailoverCommit: 50 * ms, FailoverRelist: 50 * ms}},
		{"it expired before the timeout was over, by the log's clock", func(r *history.Failover) { r.Expired = 13*time.Second - ms },
			map[string]time.Duration{FailoverDetect: 2999 * ms, FailoverExpire: 0, FailoverCommit: 1051 * ms, FailoverNotify: 30 * ms, FailoverRelist: 20 * ms}},
		{"the session had not to expire", func(r *history.Failover) { r.Expires = false }, nil},
	} {
		f := failoverOf(crashed(row.edit))
		var sum time.Duration
		for _, name := range Stages {
			sum += f.Stages[name]
			if got, want := f.Stages[name], row.want[name]; got != want {
				t.Errorf("%s: %s: %v, want %v", row.name, name, got, want)
			}
		}
		if row.want != nil && sum != f.Latency {
			t.Errorf("%s: the stages add up to %v, and it took %v", row.name, sum, f.Latency)
		}
	}
}

func TestFailovers_areHeldToTheirPrediction(t *testing.T) {
	granted := func(round int, at time.Duration) func(r *history.Failover) {
		return func(r *history.Failover) { r.Round, r.Granted = round, at }
	}
	measured := measure(history.Of(history.Header{Trial: "t"},
		crashed(nil),
		crashed(granted(2, 19*time.Second)), // too late
		crashed(granted(3, 12*time.Second)), // too early
		crashed(granted(4, 0)),              // never
		&history.Failover{At: 15 * time.Second, Phase: "leader-kill", Round: 1, Cause: "leader.kill", Injected: 10 * time.Second, // the holder held on
			Suspended: 10*time.Second + ms, Restored: 10*time.Second + 500*ms, Most: 8 * time.Second},
		&history.Recovered{At: 20 * time.Second, Phase: "crash", Healing: 18 * time.Second},
		&history.Connections{At: 20 * time.Second, Made: 10, Over: time.Second},
		&history.Connections{At: 21 * time.Second, Made: 25, Over: time.Second / 2},
	))
	m := measured[FailoverOutside]
	if m.Value == nil || *m.Value != 3 || *m.Count != 5 {
		t.Errorf("outside: %+v, want 3 of 5", m)
	}
	for _, part := range []string{"round 2: 9.00 s, predicted 3.00 s to 8.00 s", "round 3: 2.00 s", ", round 4: no client was granted"} {
		if !strings.Contains(m.Note, part) {
			t.Errorf("the note does not say %q: %s", part, m.Note)
		}
	}
	if l := measured[LeaderlessTime]; l.Max == nil || *l.Max != 499e6 {
		t.Errorf("a holder that held on was in doubt for %v, want 499ms", l.Max)
	}
	if c := measured["failover.latency.crash"]; *c.Count != 3 || *c.Max != 9e9 || c.Missing != 1 {
		t.Errorf("of the crashes %+v, want three, and one that never came", c)
	}
	if r, c := measured[RecoveryTime], measured[ConnectionsPeak]; *r.Max != 2e9 || *c.Value != 50 {
		t.Errorf("recovery %v, connections %v; want 2 s and 50 a second", *r.Max, *c.Value)
	}
}

// A round that the load of the machine may have delayed is neither inside nor outside the prediction.
func TestFailovers_onABusyMachine(t *testing.T) {
	late := func(stalled time.Duration) *history.Failover {
		return crashed(func(r *history.Failover) { r.Granted, r.Stalled = 19*time.Second, stalled }) // 9 s, at most 8 s
	}
	m := measure(history.Of(history.Header{Trial: "t"}, crashed(nil), late(2*time.Second)))[FailoverOutside]
	if m.Value != nil || *m.Count != 2 || !strings.Contains(m.Note, "9.00 s, predicted 3.00 s to 8.00 s") || !strings.Contains(m.Note, "waited 2.00 s") {
		t.Errorf("delayed by the machine: %+v", m)
	}
	m = measure(history.Of(history.Header{Trial: "t"}, late(2*time.Second), late(time.Second/2)))[FailoverOutside]
	if m.Value == nil || *m.Value != 1 || strings.Contains(m.Note, "waited") {
		t.Errorf("one was delayed more than the machine explains: %+v", m)
	}
}

func TestFailovers_namesTheLongest(t *testing.T) {
	measured := new(line).hold("crash", 1, 1, 0, 1, 0).session(history.Suspended, 1, 11_000).fault(1, 10_000, 14_000).
		hold("crash", 2, 2, 3, 14_100, 15_000).add(crashed(nil)).measure()
	if m := measured[FailoverLatency]; !strings.Contains(m.Note, "the longest was crash, round 1: 4.10 s") || !strings.Contains(m.Note, "expire 1.00 s") {
		t.Errorf("%+v", m)
	}
}

func TestLeaderless_inASuccession(t *testing.T) {
	terms := func(b *line) *line { return b.hold("resign", 0, 1, 0, 1, 10).hold("resign", 1, 2, 2, 17, 0) }
	if _, ok := terms(new(line).phase("resign", 0, 100)).measure()[LeaderlessTime]; ok {
		t.Error("a graceful hand-off counts as a leaderless time outside of a succession")
	}
	m := terms(new(line).phaseOf("resign", history.SuccessionPhase, history.ByHarness, 0, 100)).measure()[LeaderlessTime]
	if m.Max == nil || *m.Max != 7e6 {
		t.Errorf("the leaderless time is %v, want the 7 ms from the call of release to the next grant", m.Max)
	}
}
