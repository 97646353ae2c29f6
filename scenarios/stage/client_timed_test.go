package stage

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// timedClient says when its last operation was called and returned.
type timedClient struct{ times recipes.Times }

func (c timedClient) Close(context.Context) error { return nil }

func (c timedClient) Times() recipes.Times { return c.times }

// A clock that may be wrong narrows a belief. It cannot have anything happen before it was
// asked for, or after its answer was there.
func TestTimed_narrowsNoFurtherThanWeKnow(t *testing.T) {
	st := &Stage{Clock: history.Start()}
	at := func(ms int) time.Time { return time.Now().Add(time.Duration(ms)*time.Millisecond - st.Clock.Now()) }
	const ms = time.Millisecond
	for _, row := range []struct {
		op         string
		times      recipes.Times
		call, ends time.Duration
		clock      time.Duration // by how much it was narrowed
	}{
		{history.Acquire, recipes.Times{Called: at(120), Returned: at(140), Error: 5 * ms}, 120 * ms, 145 * ms, 5 * ms},
		{history.Acquire, recipes.Times{Called: at(120), Returned: at(198), Error: 5 * ms}, 120 * ms, 200 * ms, 2 * ms},
		{history.Release, recipes.Times{Called: at(120), Returned: at(140), Error: 5 * ms}, 115 * ms, 140 * ms, 5 * ms},
		{history.Release, recipes.Times{Called: at(102), Returned: at(140), Error: 5 * ms}, 100 * ms, 140 * ms, 2 * ms},
		{history.Write, recipes.Times{Called: at(120), Returned: at(140), Error: 5 * ms}, 120 * ms, 140 * ms, 0},
	} {
		c := &Client{Stage: st}
		var subject recipes.Client = timedClient{row.times}
		c.Subject.Store(&subject)
		s := history.Sample{Op: row.op, Due: 100 * ms, Call: 100 * ms, Return: 200 * ms}
		c.useReportedTimes(&s)
		if s.Call.Round(ms) != row.call || s.Return.Round(ms) != row.ends || s.Due > s.Call {
			t.Errorf("%s %+v: due %v, call %v, return %v; want %v to %v", row.op, row.times, s.Due, s.Call, s.Return, row.call, row.ends)
		}
		if s.Clock.Round(ms) != row.clock {
			t.Errorf("%s %+v: narrowed by %v, want %v", row.op, row.times, s.Clock, row.clock)
		}
	}
}
