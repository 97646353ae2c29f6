package metrics

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

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
