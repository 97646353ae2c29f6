package report

import (
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

const ms = time.Millisecond

// tale builds histories whose lines read like what happened; times in milliseconds.
type tale struct{ records []history.Record }

func (b *tale) phase(name string, from, to int) *tale {
	b.note(history.Note{Kind: history.PhaseStart, At: time.Duration(from) * ms, Text: name})
	return b.note(history.Note{Kind: history.PhaseEnd, At: time.Duration(to) * ms, Text: name})
}

func (b *tale) note(n history.Note) *tale {
	b.records = append(b.records, history.Record{Note: &n})
	return b
}

func (b *tale) hold(phase string, client int, token int64, call, granted, release int) *tale {
	s := history.Sample{Client: client, Phase: phase, Op: history.Acquire, Due: time.Duration(call) * ms, Call: time.Duration(call) * ms,
		Return: time.Duration(granted) * ms, Outcome: history.OK, Token: token, Session: int64(100 + client), Path: "/n"}
	b.records = append(b.records, history.Record{Sample: &s})
	if release > 0 {
		r := s
		r.Op, r.Call, r.Return = history.Release, time.Duration(release)*ms, time.Duration(release+1)*ms
		b.records = append(b.records, history.Record{Sample: &r})
	}
	return b
}

func (b *tale) told(kind string, client, at int) *tale {
	return b.note(history.Note{Kind: kind, Client: client, Session: int64(100 + client), At: time.Duration(at) * ms})
}

func (b *tale) fault(client, from, to int) *tale {
	w := history.Window{Fault: "session.close", Target: "holder", Client: client, Start: time.Duration(from) * ms, End: time.Duration(to) * ms, Proof: "p"}
	b.records = append(b.records, history.Record{Window: &w})
	return b
}

func (b *tale) fold(thresholds ...string) Trial {
	h := history.Header{Trial: "t", Subject: "lock/parent", Clients: 3, Thresholds: thresholds, Params: map[string]string{"promise": "1s"}}
	return Fold(history.Of(h, b.records...)).Trial
}

// measured is the metric's count and the mean in milliseconds; -1 where it is absent.
func measured(t Trial, name string) (count int64, mean float64) {
	m, ok := t.Metrics[name]
	if !ok || m.Count == nil {
		return 0, -1
	}
	return *m.Count, *m.Mean / 1e6
}

func TestFoldHandoffs(t *testing.T) {
	for _, c := range []struct {
		name   string
		tale   *tale
		metric string
		count  int64
		mean   float64
	}{
		{"a hand-off lasts from the call of release to the next grant's return",
			new(tale).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40), HandoffLatency, 1, 7},
		{"nobody waited, so there was no hand-off",
			new(tale).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 21, 27, 40), HandoffLatency, 0, -1},
		{"a fault in the way makes it no hand-off",
			new(tale).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).fault(3, 22, 23), HandoffLatency, 0, -1},
		{"an early fault that was never healed is in the way, whatever came after it",
			new(tale).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).fault(3, 1, 0).fault(3, 2, 3), HandoffLatency, 0, -1},
		{"a fault that is over is not in the way",
			new(tale).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).fault(3, 12, 13), HandoffLatency, 1, 7},
		{"a grant in another phase is no hand-off",
			new(tale).hold("p", 1, 5, 0, 10, 20).hold("q", 2, 6, 0, 27, 40), HandoffLatency, 0, -1},
		{"a resumed grant is not handed on",
			new(tale).hold("p", 1, 5, 0, 10, 0).told(history.Suspended, 1, 15).told(history.Resumed, 1, 18), FailoverLatency, 0, -1},
		{"a fault that strikes the holder begins a failover",
			new(tale).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).told(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"a failover is leaderless since the victim stopped to believe",
			new(tale).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).told(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), LeaderlessTime, 1, 200},
		{"a failover without exposure has an overlap of 0",
			new(tale).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).told(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), BeliefOverlap, 1, 0},
		{"a victim that does not know yet overlaps with the next",
			new(tale).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).hold("p", 2, 6, 0, 300, 700).told(history.Lost, 1, 400), BeliefOverlap, 1, 100},
		{"a fault on a member that costs the holder its session begins a failover",
			new(tale).hold("p", 1, 5, 0, 10, 0).fault(-1, 100, 200).told(history.Suspended, 1, 150).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"a holder that was killed without a fault begins a failover at its death",
			new(tale).hold("p", 1, 5, 0, 10, 0).told(history.Killed, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 200},
		{"with a churn, the drain's hand-offs have a name of their own",
			new(tale).phase("drain", 0, 27).note(history.Note{Kind: history.Fan, Phase: "drain"}).phase("churn", 28, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25).
				hold("churn", 1, 7, 30, 40, 50).hold("churn", 2, 8, 30, 59, 60), HandoffLatencyDrain, 1, 3},
		{"with a churn, hand-offs are the churn's: there the line is always full",
			new(tale).phase("drain", 0, 27).note(history.Note{Kind: history.Fan, Phase: "drain"}).phase("churn", 28, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25).
				hold("churn", 1, 7, 30, 40, 50).hold("churn", 2, 8, 30, 59, 60), HandoffLatency, 1, 9},
		{"without a churn, hand-offs are the drain's",
			new(tale).phase("drain", 0, 27).note(history.Note{Kind: history.Fan, Phase: "drain"}).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25), HandoffLatency, 1, 3},
		{"acquiring is measured outside the drain, where there is an outside",
			new(tale).phase("drain", 0, 100).note(history.Note{Kind: history.Fan, Phase: "drain"}).
				hold("drain", 1, 5, 0, 10, 20).hold("churn", 1, 7, 30, 44, 50), AcquireLatency, 1, 14},
		{"acquiring is measured in the drain, where there is nothing else",
			new(tale).phase("drain", 0, 100).note(history.Note{Kind: history.Fan, Phase: "drain"}).
				hold("drain", 1, 5, 0, 10, 20), AcquireLatency, 1, 10},
	} {
		t.Run(c.name, func(t *testing.T) {
			count, mean := measured(c.tale.fold(), c.metric)
			if count != c.count || math.Abs(mean-c.mean) > 1e-9 {
				t.Errorf("%s: %d values with mean %v ms, want %d with %v", c.metric, count, mean, c.count, c.mean)
			}
		})
	}
}

func TestFoldThroughputCountsThePhaseThatIsNotTheDrain(t *testing.T) {
	b := new(tale).phase("drain", 0, 1000).note(history.Note{Kind: history.Fan, Phase: "drain"}).phase("churn", 1000, 3000).
		hold("drain", 1, 5, 0, 10, 20).hold("churn", 1, 6, 1000, 1010, 1020).hold("churn", 1, 7, 1030, 1040, 1050)
	m := b.fold().Metrics[Throughput]
	if m.Value == nil || *m.Value != 1 || m.Unit != "1/s" || m.Phase != "churn" {
		t.Errorf("got %+v, want 2 grants in 2 s", m)
	}
}

func TestFoldFanOutIsPerHandoffOverAllRounds(t *testing.T) {
	round := func(notifications, servers int64) history.Note {
		return history.Note{Kind: history.Fan, Phase: "drain", Counts: map[string]int64{
			"handoffs": 4, "notifications": notifications, "expected.notifications": 10, "servers.notifications": servers}}
	}
	b := new(tale).phase("drain", 0, 9).note(round(10, 10)).note(round(8, 10))
	m := b.fold().Metrics[FanoutNotifications]
	if m.Value == nil || *m.Value != 18.0/8 || *m.Expected != 20.0/8 || *m.Servers != 20.0/8 {
		t.Errorf("got %+v", m)
	}
	if m, ok := b.fold().Metrics[FanoutBytes]; ok {
		t.Errorf("bytes were not counted, but there is %+v", m)
	}
}

func TestFoldQueueLatencyWhicheverRecordComesFirst(t *testing.T) {
	put := history.Record{Sample: &history.Sample{Op: history.Put, Item: "a", Due: 1 * ms, Call: 2 * ms, Return: 3 * ms, Outcome: history.OK}}
	take := history.Record{Sample: &history.Sample{Op: history.Take, Item: "a", Due: 0, Call: 0, Return: 9 * ms, Outcome: history.OK}}
	for _, order := range [][]history.Record{{put, take}, {take, put}} {
		if count, mean := measured((&tale{order}).fold(), QueueLatency); count != 1 || mean != 8 {
			t.Errorf("%d values with mean %v ms, want 1 with 8", count, mean)
		}
	}
}

func TestFoldKeepsWhatTheHarnessMeasuredAboutItself(t *testing.T) {
	b := new(tale).note(history.Note{Kind: history.Watch, Counts: map[string]int64{"late.max": 7, "backlog.max": 3}})
	got := b.fold().Metrics
	if m := got["self.late.max"]; m.Unit != "ns" || *m.Value != 7 {
		t.Errorf("late.max is %+v", m)
	}
	if m := got["self.backlog.max"]; m.Unit != "1" || *m.Value != 3 {
		t.Errorf("backlog.max is %+v", m)
	}
}

func TestFoldOfATruncatedHistoryIsNeverAPass(t *testing.T) {
	h := history.Of(history.Header{Trial: "t"}, new(tale).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40).records...)
	whole := h.Records
	h.Records = func(yield func(history.Numbered, error) bool) {
		for n := range whole {
			if !yield(n, nil) {
				return
			}
		}
		yield(history.Numbered{}, history.ErrTruncated)
	}
	for _, v := range Fold(h).Trial.Verdicts {
		if v.Result == Pass {
			t.Errorf("%s passes", v.Guarantee)
		}
		if v.Guarantee == "mutual-exclusion" && !strings.Contains(v.Reasons[0], "not be read to its end") {
			t.Errorf("reasons %q", v.Reasons)
		}
	}
}

// BenchmarkFold reads, judges and folds a history from disk: what one trial costs.
func BenchmarkFold(b *testing.B) {
	const cycles = 50_000
	path := filepath.Join(b.TempDir(), "t.jsonl.zst")
	w, err := history.Create(path, history.Header{Trial: "t"})
	if err != nil {
		b.Fatal(err)
	}
	for i := range cycles {
		for _, r := range new(tale).hold("churn", i%100, int64(i+1), i, i+1, i+1).records {
			w.Sample(*r.Sample)
		}
	}
	if err := w.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		h, err := history.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		if f := Fold(h); f.Err != nil || *f.Trial.Metrics[AcquireLatency].Count != cycles {
			b.Fatalf("%+v", f)
		}
	}
	b.ReportMetric(2*cycles*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}
