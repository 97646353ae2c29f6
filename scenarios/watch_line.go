package scenarios

import (
	"context"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// lineWatch takes a snapshot of the line when clients wait, none holds, and the wire has been still
// for a while: it shows a client that was not notified. It also takes one when a client is passed
// by repeatedly. The verdicts decide whether the client should have been granted.
type lineWatch struct {
	st     *stage
	last   wire.Counts
	since  time.Time // last change on the wire
	looked time.Time // last check of single clients
	rests  []rest    // of each client
}

// rest is a time in which a client waits in one acquire and only pings pass on its connections.
type rest struct {
	under  *operation
	moved  int64 // frames at its begin; -1: not checked yet
	since  time.Time
	grants int64 // grants of all clients at its begin
}

// stillFor is the time for which the wire must be still.
const stillFor = time.Second

// passedBy is the required number of grants to others, in multiples of the number of clients.
const passedBy = 2

func (st *stage) watchLine() *lineWatch {
	return &lineWatch{st: st, since: time.Now(), looked: time.Now(), rests: make([]rest, len(st.clients))}
}

// look checks the wire, and takes a snapshot if the line is still or a client is passed by.
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

// sleeps reports, at intervals, whether a client has rested for two session timeouts while others
// were granted passedBy times.
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
			continue // few enough grants: no need to check the wire
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

// moved reports whether anything but pings has passed since the last call.
func (w *lineWatch) moved() bool {
	now := w.st.tap.Totals()
	passed := now.Sub(w.last)
	w.last = now
	return passed.Connections > 0 || passed.Notifications.Total() > 0 ||
		passed.Requests.Total() > 0
}

// asking reports whether a request other than a ping is in flight.
func (st *stage) asking() bool {
	return slices.ContainsFunc(slices.Concat(st.clients, st.producers), func(c *client) bool { return c.wire.Unanswered() > 0 })
}

// onlyWait reports whether clients wait, and none does anything else or holds.
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
