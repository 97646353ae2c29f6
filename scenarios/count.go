package scenarios

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

type counts struct {
	wire    wire.Counts
	fired   int64 // notifications sent, by the members' own counters; -1 if unknown
	watches int64 // watches registered now; -1 if unknown
}

// count reads the taps and every member's counters. A member without counters is not an error.
func (st *stage) count(ctx context.Context) (c counts, err error) {
	c.wire = st.tap.Totals()
	c.fired, c.watches, err = st.members.count(ctx)
	return c, err
}

func (st *stage) traffic(of string, n, round int, base, now counts) *history.Traffic {
	w := now.wire.Sub(base.wire)
	r := &history.Traffic{
		At: st.clock.Now(), Phase: st.phase.Name, Round: round, Of: of, Count: int64(n),
		Notifications: w.Notifications.Total(), Requests: w.Requests.Total(), Lists: lists(w), Bytes: w.BytesIn + w.BytesOut,
	}
	if now.fired >= 0 && base.fired >= 0 {
		r.ServerNotifications = new(now.fired - base.fired)
	}
	return r
}

func lists(c wire.Counts) int64 {
	return c.Requests.Of(wire.GetChildren) + c.Requests.Of(wire.GetChildren2)
}

type effort struct {
	calls   int64
	backOff time.Duration
	wire    wire.Counts
}

func (st *stage) efforts() []effort {
	out := make([]effort, len(st.clients))
	for i, c := range st.clients {
		out[i] = effort{c.calls.Load(), time.Duration(c.back.total.Load()), c.wire.Counts()}
	}
	return out
}

// recordEfforts records the requests of every client since before, without pings.
func (st *stage) recordEfforts(before []effort) {
	for i, e := range st.efforts() {
		calls := e.calls - before[i].calls
		if calls == 0 {
			continue
		}
		w := e.wire.Sub(before[i].wire)
		st.record.Record(&history.Effort{At: st.clock.Now(), Phase: st.phase.Name, Client: i, Queue: st.queue(), Calls: calls,
			Requests: w.Requests.Total(), Notifications: w.Notifications.Total(), Connections: w.Connections, Refusals: w.Errors.Total(), BackOff: e.backOff - before[i].backOff})
	}
}
