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
// the phase does. It takes one, too, when a client is passed by again and again: who was not
// woken is seen beside others who are. Whether something was in the way is for the verdicts
// to say.
type lineWatch struct {
	st     *stage
	last   wire.Counts
	since  time.Time // nothing has moved
	looked time.Time // at clients one by one
	rests  []rest    // of each client
}

// rest is a time in which a client waits in one acquire, and nothing but pings passes on its
// connections.
type rest struct {
	under  *operation
	moved  int64 // on them until then; -1: nobody has asked
	since  time.Time
	grants int64 // of all clients until then
}

// stillFor is how long nothing must have moved.
const stillFor = time.Second

// passedBy is how many times as many grants as there are clients must have passed a client by.
const passedBy = 2

func (st *stage) watchLine() *lineWatch {
	return &lineWatch{st: st, since: time.Now(), looked: time.Now(), rests: make([]rest, len(st.clients))}
}

// look looks at the wire, and at the line where that is still, or somebody sleeps in it.
func (w *lineWatch) look(ctx context.Context) {
	switch {
	case w.sleeps():
		_ = w.st.snapshot(ctx, stuckFor)
		w.looked = time.Now()
	case w.moved() || !w.st.onlyWait():
	case time.Since(w.since) < stillFor:
		return
	default:
		r, err := w.st.observe(ctx, stuckFor)
		if err == nil && !w.moved() && w.st.onlyWait() {
			w.st.record.Record(r)
		}
	}
	w.since = time.Now()
}

// sleeps says, once in a while, whether a client has rested for two session timeouts while far
// more were granted than there are clients.
func (w *lineWatch) sleeps() (found bool) {
	if time.Since(w.looked) < stillFor {
		return false
	}
	w.looked = time.Now()
	grants, all := w.st.grants.Load(), int64(len(w.st.clients))
	for i, c := range w.st.clients {
		o, r := c.under.Load(), &w.rests[i]
		if o == nil || o.op != history.Acquire || o != r.under {
			*r = rest{o, -1, w.looked, grants}
			continue
		}
		passed := grants - r.grants
		if passed <= all {
			continue // as many as pass by in a line: the wire is not asked
		}
		n := c.wire.Counts()
		switch moved := n.Requests.Total() + n.Notifications.Total() + n.Connections; {
		case moved != r.moved:
			*r = rest{o, moved, w.looked, grants}
		case w.looked.Sub(r.since) > 2*w.st.scenario.SessionTimeout && passed > passedBy*all:
			found = true
		}
	}
	return found
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
