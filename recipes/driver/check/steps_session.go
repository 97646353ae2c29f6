package check

import (
	"cmp"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
)

func checkCloseUnder(k *checker) {
	a, _ := k.client()
	b, _ := k.client()
	var under *attempt
	if k.p.Hello.Recipe == string(recipes.RecipeQueue) {
		under = k.beginTake(b)
		k.waits(under, "a take from an empty queue")
	} else if k.p.Hello.Recipe == string(recipes.RecipeBarrier) {
		k.together = 2
		b, _ = k.client() // opened with that number of parties
		under = k.beginAcquire(b)
		k.waits(under, "the enter of the first of two parties")
	} else {
		k.acquire(a)
		under = k.beginAcquire(b)
		k.waits(under, "a second client's acquire")
	}
	session := b.Seen().Session
	err := b.Close(k.ctx)
	k.be(err == nil, "close under an operation is ok: %v", err)
	k.be(under.returns(time.Second) && under.err != nil, "the pending operation answered %v at close", under.err)
	k.be(k.until(timeout, func() bool { return k.nodes(session) == 0 }), "close ends the session in good order, and %v later it still has a node in line", timeout)
}

func checkEvents(k *checker) {
	c, events := k.client()
	k.acquire(c)
	restore := k.Ground.Cut(c.Number())
	got := k.ofSession(events, timeout)
	restore()
	k.be(got == recipes.EventSuspended, "the connection was lost, and within %v the driver said %s, not suspended", timeout, said(got))
	got = k.ofSession(events, 2*timeout)
	if got == recipes.EventLost {
		k.note("the session did not survive a cut of moments: restored could not be seen")
		return
	}
	k.be(got == recipes.EventRestored, "the same session is connected again, and then the driver said %s, not restored", said(got))
	restore = k.Ground.Cut(c.Number())
	err := k.Ground.End(k.ctx, c.Number())
	restore()
	k.must(err)
	for got = k.ofSession(events, 3*timeout); got == recipes.EventSuspended; got = k.ofSession(events, 3*timeout) {
	}
	k.be(got == recipes.EventLost, "the session was closed at the servers, and then the driver said %s, not lost", said(got))
}

func said(kind recipes.EventKind) string { return cmp.Or(string(kind), "nothing") }

// ofSession returns the next event of the session within a time, or "". A recipe may end a grant
// with the connection, and report that before or after.
func (k *checker) ofSession(events chan recipes.Event, limit time.Duration) recipes.EventKind {
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
	c, events := k.client()
	if k.p.Hello.Recipe != string(recipes.RecipeQueue) {
		k.acquire(c) // many recipes notify only a holder
	}
	gone := c.Seen().Session
	restore := k.Ground.Cut(c.Number())
	err := k.Ground.End(k.ctx, c.Number())
	restore()
	k.must(err)
	if k.p.Hello.Events {
		k.neverRestored(c, events, gone)
	}
	err = c.Close(k.ctx)
	k.be(err == nil, "close must answer ok even if the session has ended: %v", err)
	k.numbers-- // the same number again
	k.client()
}

// afterthought bounds the time that a driver needs to report an event after its client has
// connected.
const afterthought = 500 * time.Millisecond

// neverRestored ends the step if the client reports restored although its session has ended. A
// driver that takes a new session for the old one reports that when it has connected. Many clients
// do not connect after lost: they have a session timeout to do it.
func (k *checker) neverRestored(c *host.Client, events <-chan recipes.Event, gone int64) {
	lost := false
	listen := func() {
		for len(events) > 0 {
			switch e := <-events; e.Kind {
			case recipes.EventLost:
				lost = true
			case recipes.EventRestored:
				k.be(!lost, "session %#x has ended, and the client reported lost and then restored; restored must not follow lost, and a new session is not reported", uint64(gone))
				k.be(false, "session %#x has ended, and the client reported restored, not lost; restored is for the same session only, and a new session is not reported", uint64(gone))
			}
		}
	}
	connected := func() bool { listen(); return c.Seen().Session != gone }
	k.until(3*timeout, func() bool { return connected() || lost })
	k.until(timeout, connected)
	k.until(afterthought, func() bool { listen(); return false })
}

func checkEnd(k *checker) {
	c, _ := k.client()
	session := c.Seen().Session
	if k.p.Hello.Recipe != string(recipes.RecipeQueue) {
		k.acquire(c)
	}
	k.open = nil
	if err := k.p.Stop(); err != nil {
		panic(wrong{err.Error()})
	}
	gone := k.until(timeout/2, func() bool { n, err := k.Ground.Below(k.ctx, k.path, session); return err == nil && n == 0 })
	if !gone {
		panic(wrong{"the driver has exited, and the session that it had was not closed: it still has a node in line"})
	}
}
