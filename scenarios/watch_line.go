package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// lineWatch takes a snapshot of the line whenever clients wait in it, nobody holds, and
// nothing has moved on the wire for a while: whoever was not woken is seen then, whatever
// the phase does. Whether something was in the way is for the verdicts to say.
type lineWatch struct {
	st    *stage
	last  wire.Counts
	since time.Time // nothing has moved
}

// stillFor is how long nothing must have moved.
const stillFor = time.Second

func (st *stage) watchLine() *lineWatch { return &lineWatch{st: st, since: time.Now()} }

// look looks at the wire, and at the line where that is still.
func (w *lineWatch) look(ctx context.Context) {
	if w.moved() || !w.st.onlyWait() {
		w.since = time.Now()
		return
	}
	if time.Since(w.since) < stillFor {
		return
	}
	r, err := w.st.observe(ctx, stuckFor)
	if err == nil && !w.moved() && w.st.onlyWait() {
		w.st.record.Record(r)
	}
	w.since = time.Now()
}

// moved says whether anything but pings has passed since the last call.
func (w *lineWatch) moved() bool {
	now := w.st.tap.Totals()
	passed := now.Sub(w.last)
	w.last = now
	return passed.Connections > 0 || passed.Notifications.Total() > 0 ||
		passed.Requests.Total() > 0
}

// asking says that somebody waits for a reply, pings aside.
func (st *stage) asking() bool {
	return slices.ContainsFunc(slices.Concat(st.clients, st.producers), func(c *client) bool { return c.wire.Unanswered() > 0 })
}

// onlyWait says that clients wait, and that none does or asks anything else, or holds
// without a doubt.
func (st *stage) onlyWait() bool {
	waits := false
	for _, c := range slices.Concat(st.clients, st.producers) {
		switch o := c.under.Load(); {
		case o == nil:
		case o.op == history.Acquire || o.op == history.Take:
			waits = true
		default:
			return false
		}
	}
	n := st.holder.holding()
	return waits && !st.asking() && (n < 0 || st.clients[n].inDoubt(st.clients[n].token.Load()))
}
