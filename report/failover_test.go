package report

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const sec = int64(time.Second)

// crashed is the note of a round in which a holder crashed at 10 s, was heard last at 9 s
// with a timeout of 4 s, and was followed at 14.1 s, unless edited.
func crashed(edit func(n *history.Note)) history.Record {
	n := &history.Note{At: 15 * time.Second, Kind: history.Failover, Phase: "crash", Round: 1, Text: "crash", Timeout: 4 * time.Second, Counts: map[string]int64{
		history.CountStruck: 10 * sec, history.CountHeard: 9 * sec, history.CountExpired: 14 * sec,
		history.CountCommitted: 14*sec + 50e6, history.CountWoken: 14*sec + 80e6, history.CountGranted: 14*sec + 100e6,
		history.CountLeast: 3 * sec, history.CountMost: 8 * sec, history.CountMean: 5 * sec, history.CountBudget: 1,
	}}
	if edit != nil {
		edit(n)
	}
	return history.Record{Note: n}
}

func TestFailover_stages(t *testing.T) {
	without := func(keys ...string) func(n *history.Note) {
		return func(n *history.Note) {
			for _, k := range keys {
				delete(n.Counts, k)
			}
		}
	}
	for _, row := range []struct {
		name string
		edit func(n *history.Note)
		want map[string]time.Duration
	}{
		{"every stage was seen", nil, map[string]time.Duration{FailoverDetect: 3 * time.Second, FailoverExpire: time.Second,
			FailoverCommit: 50 * time.Millisecond, FailoverNotify: 30 * time.Millisecond, FailoverRelist: 20 * time.Millisecond}},
		{"nobody saw it expire", without(history.CountExpired), map[string]time.Duration{FailoverExpire: 4050 * time.Millisecond,
			FailoverNotify: 30 * time.Millisecond, FailoverRelist: 20 * time.Millisecond}},
		{"nobody saw the notification", without(history.CountWoken), map[string]time.Duration{FailoverDetect: 3 * time.Second, FailoverExpire: time.Second,
			FailoverCommit: 50 * time.Millisecond, FailoverRelist: 50 * time.Millisecond}},
		{"it expired before the timeout was over, by the log's clock", func(n *history.Note) { n.Counts[history.CountExpired] = 13*sec - 1e6 },
			map[string]time.Duration{FailoverDetect: 2999 * time.Millisecond, FailoverExpire: 0, FailoverCommit: 1051 * time.Millisecond,
				FailoverNotify: 30 * time.Millisecond, FailoverRelist: 20 * time.Millisecond}},
		{"the session had not to expire", without(history.CountBudget), nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := failoverOfNote(crashed(row.edit).Note)
			var sum time.Duration
			for _, name := range Stages {
				sum += f.Stages[name]
				if got, want := f.Stages[name], row.want[name]; got != want {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
			}
			if row.want != nil && sum != f.Latency {
				t.Errorf("the stages add up to %v, and it took %v", sum, f.Latency)
			}
		})
	}
}

func TestFold_failovers(t *testing.T) {
	set := func(round int, key string, at int64) func(n *history.Note) {
		return func(n *history.Note) { n.Round, n.Counts[key] = round, at }
	}
	h := history.Of(history.Header{Trial: "t", Params: map[string]string{"promise": "5s"}, Thresholds: []string{
		"failover.outside == 0", "failover.latency.crash.max <= promise", "failover.latency.crash.count == 3", "recovery.time.max < 3s", "connections.peak > 40",
	}},
		crashed(nil),
		crashed(set(2, history.CountGranted, 19*sec)),                                          // too late
		crashed(set(3, history.CountGranted, 12*sec)),                                          // too early
		crashed(func(n *history.Note) { n.Round = 4; delete(n.Counts, history.CountGranted) }), // never
		crashed(func(n *history.Note) { // the holder held on, and that at once
			n.Phase, n.Text = "leader-kill", "leader.kill"
			n.Counts = map[string]int64{history.CountStruck: 10 * sec, history.CountSuspended: 10*sec + 1e6, history.CountResumed: 10*sec + 5e8,
				history.CountMost: 8 * sec}
		}),
		history.Record{Note: &history.Note{At: 20 * time.Second, Kind: history.Recovered, Phase: "crash", Counts: map[string]int64{history.CountMended: 18 * sec}}},
		history.Record{Note: &history.Note{At: 20 * time.Second, Kind: history.Connections, Counts: map[string]int64{history.CountMade: 10, history.CountOver: sec}}},
		history.Record{Note: &history.Note{At: 21 * time.Second, Kind: history.Connections, Counts: map[string]int64{history.CountMade: 25, history.CountOver: sec / 2}}},
	)
	trial := Fold(h).Trial
	m := trial.Metrics[FailoverOutside]
	if m.Value == nil || *m.Value != 3 || *m.Count != 5 {
		t.Errorf("outside: %+v, want 3 of 5", m)
	}
	for _, part := range []string{"round 2: 9.00 s, predicted 3.00 s to 8.00 s", "round 3: 2.00 s", "round 4: nobody was granted"} {
		if !strings.Contains(m.Note, part) {
			t.Errorf("the note does not say %q: %s", part, m.Note)
		}
	}
	want := []string{Fail, Fail, Pass, Pass, Pass}
	for i, th := range trial.Thresholds {
		if th.Result != want[i] {
			t.Errorf("%s is %s (%s), want %s", th.Expr, th.Result, th.Measured, want[i])
		}
	}
	if th := trial.Thresholds[1]; !strings.Contains(th.Measured, "promise 5.00 s") {
		t.Errorf("the promise is not named: %s", th.Measured)
	}
	if l := trial.Metrics[LeaderlessTime]; l.Max == nil || *l.Max != 499e6 {
		t.Errorf("a holder that held on was in doubt for %v, want 499ms", l.Max)
	}
}

func TestFold_promiseNamesTheLongest(t *testing.T) {
	h := history.Of(history.Header{Trial: "t", Params: map[string]string{"promise": "4s"}, Thresholds: []string{"failover.latency.max <= promise"}},
		history.Record{Sample: &history.Sample{Client: 1, Phase: "crash", Op: history.Acquire, Call: 1, Return: 2, Outcome: history.OK, Token: 1, Session: 1}},
		history.Record{Note: &history.Note{At: 11 * time.Second, Kind: history.Suspended, Client: 1, Token: 1, Phase: "crash"}},
		history.Record{Window: &history.Window{Fault: "session.expire", Client: 1, Start: 10 * time.Second, End: 14 * time.Second, Proof: "yes"}},
		history.Record{Sample: &history.Sample{Client: 2, Phase: "crash", Op: history.Acquire, Call: 3, Return: 14*time.Second + 1e8, Outcome: history.OK, Token: 2, Session: 2}},
		history.Record{Sample: &history.Sample{Client: 2, Phase: "crash", Op: history.Release, Call: 15 * time.Second, Return: 15*time.Second + 1, Outcome: history.OK, Token: 2, Session: 2}},
		crashed(nil),
	)
	th := Fold(h).Trial.Thresholds[0]
	if th.Result != Fail || !strings.Contains(th.Measured, "the longest was crash, round 1: 4.10 s") || !strings.Contains(th.Measured, "expire 1.00 s") {
		t.Errorf("%s: %s", th.Result, th.Measured)
	}
}
