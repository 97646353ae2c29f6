package metrics

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

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
	if m := got[MemberQueue]; m.Note != "zk1, after all had been opened" || *m.Count != 1 {
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
