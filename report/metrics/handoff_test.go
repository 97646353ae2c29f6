package metrics

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/history"
)

// meanOf is the metric's count and the mean in milliseconds; -1 where it is absent.
func meanOf(measured map[string]Metric, name string) (count int64, mean float64) {
	m, ok := measured[name]
	if !ok || m.Count == nil {
		return 0, -1
	}
	return *m.Count, *m.Mean / 1e6
}

func TestHandoffs(t *testing.T) {
	inTurn := func() *line { return new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 0, 27, 40) }
	lost := func() *line {
		return new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700)
	}
	for _, c := range []struct {
		name   string
		line   *line
		metric string
		count  int64
		mean   float64
	}{
		{"a hand-off lasts from the call of release to the next grant's return", inTurn(), HandoffLatency, 1, 7},
		{"whatever their clocks may be wrong by",
			new(line).clock(3, holds("p", 1, 5, 0, 10, 20)).clock(2, holds("p", 2, 6, 0, 27, 40)), HandoffLatency, 1, 7},
		{"even where that leaves nothing of a belief",
			new(line).clock(8, holds("p", 1, 5, 0, 10, 20)).clock(9, holds("p", 2, 6, 0, 27, 40)), HandoffLatency, 1, 7},
		{"and where clocks alone put the next grant before the release, it took no time",
			new(line).clock(8, holds("p", 1, 5, 0, 10, 30)).clock(9, holds("p", 2, 6, 0, 27, 40)), HandoffLatency, 1, 0},
		{"an acquire lasts for what its client's clock read",
			new(line).clock(3, holds("p", 1, 5, 0, 10, 20)), AcquireLatency, 1, 10},
		{"and a failover until what that of the next one read",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).session(history.Lost, 1, 400).clock(50, holds("p", 2, 6, 0, 600, 700)), FailoverLatency, 1, 500},
		{"nobody waited, so there was no hand-off",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("p", 2, 6, 21, 27, 40), HandoffLatency, 0, -1},
		{"a fault in the way makes it no hand-off", inTurn().fault(3, 22, 23), HandoffLatency, 0, -1},
		{"an early fault that was never healed is in the way, whatever came after it",
			inTurn().fault(3, 1, 0).fault(3, 2, 3), HandoffLatency, 0, -1},
		{"a fault that is over is not in the way", inTurn().fault(3, 12, 13), HandoffLatency, 1, 7},
		{"a grant in another phase is no hand-off",
			new(line).hold("p", 1, 5, 0, 10, 20).hold("q", 2, 6, 0, 27, 40), HandoffLatency, 0, -1},
		{"a restored grant is not handed on",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Suspended, 1, 15).session(history.Restored, 1, 18), FailoverLatency, 0, -1},
		{"a fault that hits the holder begins a failover", lost(), FailoverLatency, 1, 500},
		{"so does one whose effect the holder's own clock puts a moment before it",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Suspended, 1, 99).fault(1, 100, 110).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"but none that came long after",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Lost, 1, 50).fault(1, 100, 110).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 0, -1},
		{"a failover is leaderless since the victim stopped to believe", lost(), LeaderlessTime, 1, 200},
		{"a failover without exposure has an overlap of 0", lost(), BeliefOverlap, 1, 0},
		{"a victim that does not know yet overlaps with the next",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(1, 100, 110).hold("p", 2, 6, 0, 300, 700).session(history.Lost, 1, 400), BeliefOverlap, 1, 100},
		{"a fault on a member that costs the holder its session begins a failover",
			new(line).hold("p", 1, 5, 0, 10, 0).fault(-1, 100, 200).session(history.Suspended, 1, 150).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"a holder that was killed without a fault begins a failover at its death",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Killed, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 200},
		{"a fault that was under way when its victim was granted begins a failover",
			new(line).hold("p", 1, 5, 0, 110, 0).fault(1, 100, 120).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 1, 500},
		{"a fault that was over when its victim was granted is none of its",
			new(line).hold("p", 1, 5, 0, 110, 0).fault(1, 100, 105).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), FailoverLatency, 0, -1},
		{"of a loss without a known fault it is only known for how long nobody led",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), LeaderlessTime, 1, 200},
		{"doubts after the fault are leaderless, too",
			new(line).hold("p", 1, 5, 0, 10, 0).session(history.Suspended, 1, 50).session(history.Restored, 1, 80).fault(1, 100, 110).
				session(history.Suspended, 1, 150).session(history.Restored, 1, 250).session(history.Lost, 1, 400).hold("p", 2, 6, 0, 600, 700), LeaderlessTime, 1, 300},
		{"with a churn, the drain's hand-offs have a name of their own",
			new(line).drain(0, 27).phase("churn", 28, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25).
				hold("churn", 1, 7, 30, 40, 50).hold("churn", 2, 8, 30, 59, 60), HandoffLatencyDrain, 1, 3},
		{"with a churn, hand-offs are the churn's: there the line is always full",
			new(line).drain(0, 27).phase("churn", 28, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25).
				hold("churn", 1, 7, 30, 40, 50).hold("churn", 2, 8, 30, 59, 60), HandoffLatency, 1, 9},
		{"without a churn, hand-offs are the drain's",
			new(line).drain(0, 27).
				hold("drain", 1, 5, 0, 10, 20).hold("drain", 2, 6, 0, 23, 25), HandoffLatency, 1, 3},
		{"acquiring is measured outside the drain, where there is an outside",
			new(line).drain(0, 100).
				hold("drain", 1, 5, 0, 10, 20).hold("churn", 1, 7, 30, 44, 50), AcquireLatency, 1, 14},
		{"acquiring is measured in the drain, where there is nothing else",
			new(line).drain(0, 100).
				hold("drain", 1, 5, 0, 10, 20), AcquireLatency, 1, 10},
	} {
		count, mean := meanOf(c.line.measure(), c.metric)
		if count != c.count || math.Abs(mean-c.mean) > 1e-9 {
			t.Errorf("%s: %s: %d values with mean %v ms, want %d with %v", c.name, c.metric, count, mean, c.count, c.mean)
		}
	}
}

// The stages are the parts of the hand-off, except of one with a fault near.
func TestStages_areThePartsOfAHandoff(t *testing.T) {
	at := func(from time.Duration) *history.Handoff {
		return &history.Handoff{Phase: "drain", Released: from, Sent: from + 1*ms, Applied: from + 4*ms, Notified: from + 6*ms, Asked: from + 7*ms, Answered: from + 12*ms, Granted: from + 14*ms}
	}
	records := []history.Record{&history.Window{Fault: "session.flap", Client: 1, Start: time.Second, End: 2 * time.Second, Proof: "seen"}}
	for i := range 20 {
		records = append(records, at(time.Duration(100*i)*ms))
	}
	slow := at(1500 * ms)
	slow.Granted += time.Second
	parts := MedianStages(measure(history.Of(history.Header{Recipe: "lock"}, append(records, slow)...)))
	want := []time.Duration{1 * ms, 3 * ms, 2 * ms, 1 * ms, 5 * ms, 2 * ms}
	for i := range parts {
		parts[i] = parts[i].Round(10 * time.Microsecond)
	}
	if !slices.Equal(parts, want) {
		t.Errorf("%v, want %v", parts, want)
	}
	if got := MedianStages(map[string]Metric{}); got != nil {
		t.Errorf("without stages: %v", got)
	}
}

// What a hand-off is compared with: a delete and a read alone, and the members' own times.
func TestFloor_andTheMembersTimes(t *testing.T) {
	l := new(line).drain(0, 100)
	for range 20 {
		l.add(&history.Floor{Phase: "drain", Took: 2 * ms})
	}
	traffic := func(fsyncs, writes history.MemberTimes) history.Record {
		return &history.Traffic{Phase: "drain", Of: history.OfHandoff, Count: 4, Fsyncs: fsyncs, Writes: writes}
	}
	m := l.add(traffic(history.MemberTimes{Count: 10, Sum: 30 * ms}, history.MemberTimes{}),
		traffic(history.MemberTimes{Count: 10, Sum: 10 * ms}, history.MemberTimes{Count: -3, Sum: -9 * ms})).measure()
	if floor := m[HandoffFloor]; floor.P50 == nil || math.Abs(*floor.P50-float64(2*ms)) > float64(2*ms)/100 {
		t.Errorf("floor %+v", floor)
	}
	if fsync := m[MemberFsync]; fsync.Value == nil || *fsync.Value != float64(2*ms) || *fsync.Count != 20 {
		t.Errorf("forced writes %+v, want 2 ms of 20", fsync)
	}
	if write, known := m[MemberWrite]; known {
		t.Errorf("the counters of a restarted member count: %+v", write)
	}
}

func TestFanout_isPerHandoffOverAllRounds(t *testing.T) {
	round := func(notifications, servers int64) history.Record {
		return &history.Traffic{Phase: "drain", Of: history.OfHandoff, Count: 4, Notifications: notifications,
			ExpectedNotifications: new(int64(10)), ServerNotifications: &servers}
	}
	measured := new(line).drain(0, 9).add(round(10, 10), round(8, 10)).measure()
	m := measured[FanoutNotifications]
	if m.Value == nil || *m.Value != 18.0/8 || *m.Expected != 20.0/8 || *m.Servers != 20.0/8 || m.Unit != "1/handoff" {
		t.Errorf("got %+v", m)
	}
	if m, ok := measured[FlapNotifications]; ok {
		t.Errorf("no flap was counted, but there is %+v", m)
	}
}

func TestFanout_countsFlapsApart(t *testing.T) {
	flap := func(notifications int64) history.Record {
		return &history.Traffic{Phase: "flap", Of: history.OfFlap, Count: 1, Notifications: notifications,
			ExpectedNotifications: new(int64(17)), ServerNotifications: new(int64(18))}
	}
	probe := &history.Sample{Phase: "flap", Op: history.Acquire, Token: 1, Return: time.Second, Outcome: history.OK}
	m := new(line).phaseOf("flap", history.FlapPhase, history.ByHarness, 0, 2000).add(flap(17), flap(15), probe).measure()
	got := m[FlapNotifications]
	if got.Value == nil || *got.Value != 16 || *got.Expected != 17 || *got.Servers != 18 || *got.Count != 2 {
		t.Errorf("got %+v", got)
	}
	if _, ok := m[FanoutNotifications]; ok {
		t.Error("a flap counts as a hand-off")
	}
	if _, ok := m[AcquireLatency]; ok {
		t.Error("what is acquired to see that all is well counts as a measurement")
	}
}

// A grant beside others follows the last release that it had to wait for: of a semaphore any, of a
// read-write lock a conflicting one.
func TestHandoff_ofALockThatSeveralHold(t *testing.T) {
	type held struct {
		client           int
		mode             string
		call, start, end time.Duration
	}
	for _, row := range []struct {
		name, recipe string
		held         []held
		want         []time.Duration
	}{
		{"a permit", facts.Semaphore, []held{{0, "", 0, 1, 10}, {1, "", 0, 1, 30}, {2, "", 5, 12, 40}}, []time.Duration{2}},
		{"a permit that was free", facts.Semaphore, []held{{0, "", 0, 1, 30}, {1, "", 5, 6, 40}}, nil},
		{"readers follow the writer, and not each other", facts.RWLock,
			[]held{{0, "write", 0, 1, 10}, {1, "read", 2, 13, 20}, {2, "read", 2, 14, 40}, {3, "read", 15, 22, 40}}, []time.Duration{3, 4}},
		{"parties pass after the last call, if all do", facts.Barrier,
			[]held{{0, "", 0, 11, 20}, {1, "", 10, 12, 20}, {0, "", 21, 30, 40}, {0, "", 41, 52, 60}, {1, "", 50, 53, 60}}, []time.Duration{1, 2, 2, 3}},
		{"a writer follows the last reader", facts.RWLock, []held{{0, "read", 0, 1, 10}, {1, "read", 0, 1, 20}, {2, "write", 5, 25, 30}}, []time.Duration{5}},
	} {
		var records []history.Record
		for i, h := range row.held {
			token := int64(i + 1)
			records = append(records, &history.Sample{Client: h.client, Op: history.Acquire, Mode: h.mode, Call: h.call * ms, Return: h.start * ms, Outcome: history.OK, Token: token})
		}
		for i, h := range row.held {
			records = append(records, &history.Sample{Client: h.client, Op: history.Release, Call: h.end * ms, Return: h.end * ms, Outcome: history.OK, Token: int64(i + 1)})
		}
		h := history.Of(history.Header{Recipe: row.recipe, Permits: 2, Cell: history.Cell{Clients: 2}}, records...)
		f := NewFold(h)
		var got []time.Duration
		f.OnHandoff = func(h Handoff) { got = append(got, h.Latency/ms) }
		beliefs := facts.NewBeliefs(h.Header, f.Belief)
		for n := range h.Records {
			f.Record(n)
			beliefs.Add(n)
		}
		beliefs.Close(time.Second)
		if !slices.Equal(got, row.want) {
			t.Errorf("%s: hand-offs of %v ms, want %v", row.name, got, row.want)
		}
	}
}

// A hand-off is from a release to the next grant on the same path, and so are the other measures of a line.
func TestHandoff_isWithinAPath(t *testing.T) {
	h := new(line).phase("churn", 0, 100).
		hold("churn", 0, 1, 0, 2, 10).  // path 0
		hold("churn", 1, 2, 5, 12, 30). // path 1
		hold("churn", 2, 3, 5, 25, 50). // path 0: 15 ms after the release
		hold("churn", 3, 4, 6, 33, 60). // path 1: 3 ms after the release
		hold("churn", 1, 5, 35, 61, 62).hold("churn", 1, 6, 62, 63, 64).hold("churn", 1, 7, 64, 65, 66).hold("churn", 1, 8, 66, 67, 68).
		history()
	h.Header.Clients, h.Header.Paths = 4, 2
	f := NewFold(h)
	var got []time.Duration
	f.OnHandoff = func(h Handoff) { got = append(got, h.Latency/ms) }
	beliefs := facts.NewBeliefs(h.Header, f.Belief)
	for n := range h.Records {
		f.Record(n)
		beliefs.Add(n)
	}
	beliefs.Close(time.Second)
	if want := []time.Duration{15, 3, 1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("hand-offs of %v ms, want %v", got, want)
	}
	m := f.Close()
	if x := m[Overtaken]; *x.Value != 1 || *x.Expected != 2*StarvationLimit {
		t.Errorf("passed over %v times, the limit is %v; want 1, and the limit of 2 contenders", *x.Value, *x.Expected)
	}
	if x := m[Throughput]; x.Note != "of 2 paths, path 0 had the fewest (2) and path 1 the most (6)" {
		t.Errorf("throughput: %q", x.Note)
	}
}
