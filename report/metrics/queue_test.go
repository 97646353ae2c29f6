package metrics

import (
	"math"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// stream is a phase in which items are due every 10 ms, and one with a fault.
func stream() *line {
	op := func(phase, op, item string, due, ret int, outcome history.Outcome) history.Record {
		return &history.Sample{Phase: phase, Op: op, Item: item, Due: time.Duration(due) * ms, Call: time.Duration(ret-1) * ms,
			Return: time.Duration(ret) * ms, Outcome: outcome}
	}
	return new(line).phaseOf("stream", "stream", history.ByRate, 0, 100).phaseOf("stormy", "stream", history.ByRate, 100, 2000).add(
		op("stream", history.Put, "a", 10, 12, history.OK),
		op("stream", history.Take, "a", 11, 15, history.OK),
		op("stream", history.Take, "b", 16, 30, history.OK), // overtakes its put
		op("stream", history.Put, "b", 20, 31, history.OK),
		op("stream", history.Put, "c", 30, 32, history.Failed),
		&history.Traffic{Phase: "stream", Of: history.OfItem, Count: 2, Notifications: 8, Requests: 30},
	).fault(1, 110, 111).add(
		op("stormy", history.Put, "d", 110, 112, history.OK),
		op("stormy", history.Take, "d", 111, 1110, history.OK),
	)
}

func TestQueue(t *testing.T) {
	m := stream().measure()
	for _, c := range []struct {
		name, metric, field string
		want                float64
	}{
		{"latency counts from due to the return of the take, and not from the put", QueueLatency, "max", 10e6},
		{"an item that was taken before its put returned counts too", QueueLatency, "mean", 7.5e6},
		{"an item that met a fault is kept apart", queueLatencyFaults, "max", 1000e6},
		{"items per notification", QueueYield, "value", 0.25},
		{"requests per item", QueueRequests, "value", 15},
		{"an item that could not be put was due and not delivered", QueueUndelivered, "value", 1},
	} {
		if v := m[c.metric].Field(c.field); v == nil || math.Abs(*v-c.want) > 1e-3*c.want {
			t.Errorf("%s: %s is %v, want %v", c.name, c.metric, v, c.want)
		}
	}
}

func TestQueue_latencyWhicheverRecordComesFirst(t *testing.T) {
	put := &history.Sample{Op: history.Put, Item: "a", Due: 1 * ms, Call: 2 * ms, Return: 3 * ms, Outcome: history.OK}
	take := &history.Sample{Op: history.Take, Item: "a", Return: 9 * ms, Outcome: history.OK}
	for _, order := range [][]history.Record{{put, take}, {take, put}} {
		if count, mean := meanOf(new(line).add(order...).measure(), QueueLatency); count != 1 || mean != 8 {
			t.Errorf("%d values with mean %v ms, want 1 with 8", count, mean)
		}
	}
}

func TestQueue_aDuplicateHidesNoItem(t *testing.T) {
	b := stream()
	b.add(&history.Sample{Phase: "stream", Op: history.Take, Item: "a", Return: 1200 * ms, Outcome: history.OK})
	if m := b.measure()[QueueUndelivered]; *m.Value != 1 || *m.Count != 4 {
		t.Errorf("%v of %d items were not delivered; want 1, c, of 4", *m.Value, *m.Count)
	}
}

// load has a member say how long its queue is, and how long requests took.
func (b *line) load(member string, opening bool, queue, connections int64, mean, longest int) *line {
	return b.add(&history.MemberLoad{Phase: "connect", Member: member, Opening: opening, Outstanding: &queue, Connections: &connections,
		LatencyMean: new(time.Duration(mean) * ms), LatencyMax: new(time.Duration(longest) * ms)})
}

func (b *line) silent(member string) *line {
	return b.add(&history.MemberLoad{Phase: "connect", Member: member, Err: "connection refused"})
}

func TestMemberLoads_nameTheLongestQueue(t *testing.T) {
	got := connect().load("zk1", true, 3, 40, 9, 50).load("zk2", true, 7, 30, 20, 80).load("zk2", false, 5, 60, 4, 80).measure()
	for name, want := range map[string]float64{MemberQueue: 7, MemberConnections: 60, MemberLatency: 80e6, MemberLatencyMean: 9e6, MemberSilent: 0} {
		if m := got[name]; m.Value == nil || *m.Value != want {
			t.Errorf("%s is %+v, want %v", name, m, want)
		}
	}
	if m := got[MemberQueue]; m.Note != "zk2, while sessions were being opened" || *m.Count != 3 {
		t.Errorf("the longest queue is %+v", m)
	}
}

func TestMemberLoads_areUnknownWhereAMemberIsSilent(t *testing.T) {
	got := connect().silent("zk3").silent("zk3").load("zk1", false, 2, 5, 1, 1).silent("zk2").measure()
	if m := got[MemberSilent]; m.Value == nil || *m.Value != 3 || *m.Count != 4 || m.Note != "zk2 1 time, zk3 2 times" {
		t.Errorf("silent were %+v", m)
	}
	if m := got[MemberQueue]; m.Note != "zk1, after all sessions had been opened" || *m.Count != 1 {
		t.Errorf("the longest queue is %+v", m)
	}
	got = connect().silent("zk1").measure()
	for _, name := range []string{MemberQueue, MemberConnections, MemberLatency, MemberLatencyMean} {
		if m, some := got[name]; some {
			t.Errorf("nobody said so, but %s is %+v", name, m)
		}
	}
}

// Somebody else's members may not be told to set their counters to 0.
func TestMemberLoads_withoutLatencies(t *testing.T) {
	got := connect().add(&history.MemberLoad{Member: "zk1", Outstanding: new(int64(0)), Connections: new(int64(9))}).measure()
	if m, some := got[MemberLatency]; some {
		t.Errorf("latencies of other times: %+v", m)
	}
	if m := got[MemberQueue]; m.Value == nil || *m.Value != 0 || m.Note != "" {
		t.Errorf("the longest queue is %+v", m)
	}
}
