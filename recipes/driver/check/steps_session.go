package check

import (
	"cmp"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
)

func checkCloseUnder(k *checker) {
	a, b := k.client(), k.client()
	var pending *attempt
	if k.p.Hello.Recipe == string(recipes.RecipeQueue) {
		pending = k.waitingTake(b)
	} else if k.p.Hello.Recipe == string(recipes.RecipeBarrier) {
		k.groupSize = 2
		b = k.client() // opened with two parties
		pending = k.waitingAcquire(b, "", "enter by the first of two parties")
	} else {
		k.acquire(a)
		pending = k.waitingAcquire(b, "", "a second client's acquire")
	}
	session := b.Seen().Session
	err := b.Close(k.ctx)
	k.require(err == nil, "close during an operation must be answered ok: %v", err)
	k.require(pending.awaitReturn(time.Second) && pending.err != nil, "the pending operation did not answer with an error when its client was closed: %v", pending.err)
	k.require(k.waitUntil(timeout, func() bool { return k.nodes(session) == 0 }), "close must end the session, but %v later the session still has a node in line", timeout)
}

func checkEvents(k *checker) {
	c, events := k.clientAndEvents()
	k.acquire(c)
	restore := k.Environment.Cut(c.Number())
	got := k.awaitSessionEvent(events, timeout)
	restore()
	k.require(got == recipes.EventSuspended, "the connection was lost, but within %v the driver reported %s, not suspended", timeout, eventName(got))
	got = k.awaitSessionEvent(events, 2*timeout)
	if got == recipes.EventLost {
		k.note("the session ended while the connection was cut briefly, so the event restored could not be checked")
		return
	}
	k.require(got == recipes.EventRestored, "the same session is connected again, but the driver reported %s, not restored", eventName(got))
	restore = k.Environment.Cut(c.Number())
	err := k.Environment.End(k.ctx, c.Number())
	restore()
	k.must(err)
	for got = k.awaitSessionEvent(events, 3*timeout); got == recipes.EventSuspended; got = k.awaitSessionEvent(events, 3*timeout) {
	}
	k.require(got == recipes.EventLost, "the session was closed at the servers, but the driver reported %s, not lost", eventName(got))
}

func eventName(kind recipes.EventKind) string { return cmp.Or(string(kind), "nothing") }

// awaitSessionEvent returns the next event of the session within limit, or "". It skips EventEnded: a recipe may
// end a grant when its connection breaks, and report that before or after the session's event.
func (k *checker) awaitSessionEvent(events chan recipes.Event, limit time.Duration) recipes.EventKind {
	late := time.After(limit)
	for {
		select {
		case e := <-events:
			if e.Kind != recipes.EventEnded {
				return e.Kind
			}
		case <-k.ctx.Done():
			return ""
		case <-late:
			return ""
		}
	}
}

func checkLostSession(k *checker) {
	c, events := k.clientAndEvents()
	if k.p.Hello.Recipe != string(recipes.RecipeQueue) {
		k.acquire(c) // many recipes notify only a holder
	}
	lostSession := c.Seen().Session
	restore := k.Environment.Cut(c.Number())
	err := k.Environment.End(k.ctx, c.Number())
	restore()
	k.must(err)
	if k.p.Hello.Events {
		k.requireNotRestored(c, events, lostSession)
	}
	err = c.Close(k.ctx)
	k.require(err == nil, "close must be answered ok even if the session has ended: %v", err)
	k.numbers-- // open a client with the same number
	k.client()
}

// eventDelayLimit bounds the time that a driver needs to report an event after its client has connected.
const eventDelayLimit = 500 * time.Millisecond

// requireNotRestored ends the step if the client reports restored although its session has ended. A
// driver that mistakes a new session for the old one reports restored once it has connected. Many
// clients do not connect after lost, so the wait for a connection is limited to a session timeout.
func (k *checker) requireNotRestored(c *host.Client, events <-chan recipes.Event, lostSession int64) {
	lost := false
	listen := func() {
		for len(events) > 0 {
			switch e := <-events; e.Kind {
			case recipes.EventLost:
				lost = true
			case recipes.EventRestored:
				k.require(!lost, "session %#x has ended, but the client reported lost and then restored; restored must not follow lost, and a new session must not be reported", uint64(lostSession))
				k.require(false, "session %#x has ended, but the client reported restored, not lost; restored is for the same session only, and a new session must not be reported", uint64(lostSession))
			}
		}
	}
	connected := func() bool { listen(); return c.Seen().Session != lostSession }
	k.waitUntil(3*timeout, func() bool { return connected() || lost })
	k.waitUntil(timeout, connected)
	k.waitUntil(eventDelayLimit, func() bool { listen(); return false })
}

func checkEnd(k *checker) {
	c := k.client()
	session := c.Seen().Session
	if k.p.Hello.Recipe != string(recipes.RecipeQueue) {
		k.acquire(c)
	}
	k.open = nil
	if err := k.p.Stop(); err != nil {
		panic(violation{err.Error()})
	}
	closed := k.waitUntil(timeout/2, func() bool { n, err := k.Environment.Below(k.ctx, k.path, session); return err == nil && n == 0 })
	if !closed {
		panic(violation{"the driver has exited without closing its session, which still has a node in line"})
	}
}
