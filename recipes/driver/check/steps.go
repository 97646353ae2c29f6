package check

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	"github.com/zkbench/zkbench/recipes/driver/site"
)

var steps = []step{
	{"hello", "hello describes the driver; promises that it does not make are not tested", "", "", checkHello},
	{"protocol number", "a hello with an unknown protocol number is answered with the error unsupported", "", "", checkNumber},
	{"clock", "clock is answered at once with the driver's monotonic clock, in ns", "", "", checkClock},
	{"open", "open creates a session with the servers in connect, and answers once connected", "", "", checkOpen},
	{"not open", "an operation of a client that is not open is answered with the error failed", "", "", checkNotOpen},
	{"nothing held", "a release while the client holds nothing is answered with the error failed", "grant", "", checkNothingHeld},
	{"unknown op", "an unknown op is answered with the error unsupported", "", "", checkUnknownOp},
	{"acquire", "acquire returns when the client holds the lock, with the correct node, token and session", "grant", "", checkAcquire},
	{"contention", "a waiting client blocks neither other clients' operations nor clock", "line", "", checkContention},
	{"modes", "either several readers or one writer can hold the lock; a mode other than read and write is answered with the error failed", "rwlock", "", checkModes},
	{"permits", "exactly as many clients as there are permits can hold one at the same time", "semaphore", "", checkPermits},
	{"parties", "enter and leave return when all parties have called them", "barrier", "", checkParties},
	{"cancelled enter", "cancel aborts a waiting enter and withdraws the client", "barrier", "cancel", checkCancelledEnter},
	{"holds", "holds reports the current result of the recipe's own isOwner", "grant", "holds", checkHolds},
	{"write", "write writes the value to the resource with a plain setData", "", "write", checkWrite},
	{"cancel", "cancel aborts the pending operation, which then answers; its node is deleted", "line", "cancel", checkCancel},
	{"cancel nothing", "cancel without a pending operation answers ok and does not affect the next operation", "grant", "cancel", checkCancelNothing},
	{"limit", "acquire with limit_ms uses the recipe's own timed acquire; with 0 it does not wait", "line", "limit", checkLimit},
	{"put and take", "once put has answered ok, the item is in the queue and a take returns it", "queue", "", checkPutTake},
	{"waiting take", "a take from an empty queue waits, and blocks neither another client's put nor clock", "queue", "", checkWaitingTake},
	{"cancelled take", "cancel aborts a waiting take", "queue", "cancel", checkCancelledTake},
	{"close under an operation", "close ends the session, after the pending operation has answered", "", "", checkCloseUnder},
	{"events", "the driver reports suspended when the connection is lost, restored when the same session is connected again, and lost when the session has ended", "grant", "events", checkEvents},
	{"lost session", "after the session has ended, restored is never reported, close answers ok, and the client number can be opened again", "", "", checkLostSession},
	{"end of stdin", "when stdin ends the driver ends its sessions and exits with 0, within 10 s", "", "", checkEnd},
}

func checkHello(k *checker) {
	err := k.p.Greet()
	k.require(err == nil, "%v", err)
	s, err := host.SubjectOf(k.Command, k.p)
	k.require(err == nil, "%v", err)
	h := k.p.Hello
	k.note("%s: %s, variant %q, promises %+v, ops %s", h.Recipe, s.About, h.Variant, h.Promises, strings.Join(h.Ops, " "))
	for _, op := range h.Ops {
		if !slices.Contains([]string{"acquire", "release", "enter", "leave", "put", "take", "limit", "write", "cancel", "holds", lines.OpAuth}, op) {
			k.note("the hello names the op %q, which is not part of the protocol", op)
		}
	}
	k.require(h.MaxClients >= 0, "max_clients must not be negative, but is %d", h.MaxClients)
}

func checkNumber(k *checker) {
	p, err := host.Launch(k.Command, site.Here{}, "", k.Owner, nil)
	k.must(err)
	defer p.Stop()
	a, err := p.Await(p.Send(lines.Request{Op: "hello", Protocol: 99}, nil), 30*time.Second)
	k.require(err == nil, "hello with protocol 99 was not answered: %v", err)
	k.require(a.Error != nil && a.Error.Kind == lines.Unsupported, "hello with protocol 99 must be answered with an error of kind unsupported, but the answer is %s", p.Exchange()[len(p.Exchange())-1])
}

func checkClock(k *checker) {
	last := int64(0)
	for range 200 {
		a := k.ask("clock", 0)
		k.require(a.OK != nil && a.OK.Now != nil, "the answer to clock must have the field \"now\"")
		now := int64(*a.OK.Now)
		k.require(now >= last, "the driver's clock went backwards, from %d to %d", last, now)
		last = now
	}
	k.must(k.p.MeasureClock(200))
	p50, p99 := clock.Percentiles(k.p.Clock.Trips())
	k.note("round trip p50 %v, p99 %v; %s", p50, p99, k.p.Clock.About())
}

func checkOpen(k *checker) {
	c := k.client()
	answered, seen := c.Session(), c.Seen().Session
	k.require(answered == seen, "open was answered with session %#x, but the session on the connection is %#x", uint64(answered), uint64(seen))
}

func checkNotOpen(k *checker) {
	op, take := lines.Ops(k.p.Hello.Recipe)
	if k.p.Hello.Recipe == string(recipes.RecipeQueue) {
		op = take
	}
	k.requireFailed(op, 1_000_000, "the client is not open")
}

// requireFailed ends the step unless the request is answered with failed. why is the reason for that answer.
func (k *checker) requireFailed(op string, client int, why string) {
	a := k.ask(op, client)
	k.require(a.Error != nil && a.Error.Kind == lines.Failed, "%s, but %s of client %d was answered %s instead of with an error of kind failed", why, op, client, answered(a))
}

func answered(a lines.Reply) string {
	if a.Error == nil {
		return "ok"
	}
	return fmt.Sprintf("with an error of kind %q", a.Error.Kind)
}

func checkNothingHeld(k *checker) {
	c := k.client()
	_, release := lines.Ops(k.p.Hello.Recipe)
	k.requireFailed(release, c.Number(), "the client holds nothing")
}

func checkUnknownOp(k *checker) {
	c := k.client()
	a := k.ask("frobnicate", c.Number())
	k.require(a.Error != nil && a.Error.Kind == lines.Unsupported, "the op frobnicate does not exist, but it was answered %s instead of with an error of kind unsupported", answered(a))
}

func checkAcquire(k *checker) {
	c := k.client()
	claim := k.acquire(c)
	seen := c.Seen()
	k.require(claim.Session == seen.Session, "acquire was answered with session %#x, but the session on the connection is %#x", uint64(claim.Session), uint64(seen.Session))
	var czxid int64
	if claim.Path == "" {
		k.note("the grant's node is unknown: neither the answer nor the connection shows it")
	} else {
		var owner int64
		var err error
		_, czxid, owner, err = k.Environment.Look(k.ctx, claim.Path)
		k.must(err)
		k.require(czxid != 0, "the grant's node %s does not exist", claim.Path)
		k.require(owner == claim.Session, "the grant's node %s belongs to session %#x, not %#x", claim.Path, uint64(owner), uint64(claim.Session))
		k.note("node %s", claim.Path)
	}
	if t := c.Times(); !t.Called.IsZero() {
		k.note("the recipe's own call took %v", t.Returned.Sub(t.Called).Round(time.Microsecond))
	}
	k.release(c)
	if claim.Path != "" && !k.p.Hello.Requeues {
		_, now, _, err := k.Environment.Look(k.ctx, claim.Path)
		k.must(err)
		if now != 0 && now == czxid {
			k.note("the node still exists after release was answered ok; it should have been deleted")
		}
	}
	k.acquire(c)
	k.release(c)
}

func checkContention(k *checker) {
	a, b := k.client(), k.client()
	k.acquire(a)
	waiting := k.waitingAcquire(b, "", "a second client's acquire while the first client holds the lock")
	k.must(k.p.MeasureClock(1))
	k.client()
	k.release(a)
	k.requireGranted(waiting, "the holder has released the lock, but the waiting client")
	k.release(b)
}

func checkModes(k *checker) {
	a, b, w := k.client(), k.client(), k.client()
	k.acquireAs(a, recipes.Read)
	k.acquireAs(b, recipes.Read)
	waiting := k.waitingAcquire(w, recipes.Write, "a writer's acquire while two readers hold the lock")
	k.release(a)
	k.requireWaiting(waiting, "a writer's acquire while a reader holds the lock")
	k.release(b)
	k.requireGranted(waiting, "the readers have released the lock, but the waiting writer")
	reading := k.waitingAcquire(a, recipes.Read, "a reader's acquire while a writer holds the lock")
	k.release(w)
	k.requireGranted(reading, "the writer has released the lock, but the waiting reader")
	k.release(a)
	r := lines.Request{Op: "acquire", Client: new(a.Number()), Mode: "both"}
	reply, err := k.p.Await(k.p.Send(r, nil), 10*time.Second)
	k.must(err)
	k.require(reply.Error != nil && reply.Error.Kind == lines.Failed, "acquire with mode \"both\" was answered %s instead of with an error of kind failed", answered(reply))
}

func checkPermits(k *checker) {
	k.groupSize = 2
	a, b, c := k.client(), k.client(), k.client()
	k.acquire(a)
	k.acquire(b)
	waiting := k.waitingAcquire(c, "", "a third client's acquire while both permits are held")
	k.release(b)
	k.requireGranted(waiting, "a permit was returned, but the waiting client")
	k.release(a)
	k.release(c)
}

func checkParties(k *checker) {
	k.groupSize = 2
	a, b := k.client(), k.client()
	for range 2 { // the second generation must not be affected by nodes of the first
		entering := k.waitingAcquire(a, "", "enter by the first of two parties")
		k.must(k.p.MeasureClock(1))
		k.acquire(b)
		k.requireGranted(entering, "both parties have called enter, but enter by the first party")
		leaving := k.beginRelease(a)
		k.requireWaiting(leaving, "leave by one client while the other is inside")
		k.release(b)
		k.require(leaving.awaitReturn(grantLimit) && leaving.err == nil, "both parties called leave, but the first of them did not return ok within %v: %v", grantLimit, leaving.err)
	}
}

func checkCancelledEnter(k *checker) {
	k.groupSize = 2
	a, b := k.client(), k.client()
	entering := k.waitingAcquire(a, "", "enter by the first of two parties")
	k.requireCancelled(entering, a, "enter")
	alone := k.waitingAcquire(b, "", "enter by a client after the other client's enter was cancelled")
	k.acquire(a)
	k.requireGranted(alone, "both parties have called enter, but enter by the first party")
	leaving := k.beginRelease(a)
	k.release(b)
	k.require(leaving.awaitReturn(grantLimit) && leaving.err == nil, "both parties called leave, but one of them did not return ok within %v: %v", grantLimit, leaving.err)
}

// requireCancelled cancels an operation, and ends the step unless it returns an error and leaves no node of its client.
func (k *checker) requireCancelled(a *attempt, c *host.Client, op string) {
	a.giveUp()
	k.require(a.awaitReturn(2*timeout), "the cancelled %s did not answer within %v", op, 2*timeout)
	k.require(a.err != nil, "the cancelled %s was answered ok, although the client had to wait", op)
	session := c.Seen().Session
	k.require(k.waitUntil(timeout, func() bool { return k.nodes(session) == 0 }), "the cancelled client's node still exists a session timeout later")
}

func (k *checker) requireGranted(a *attempt, what string) {
	k.require(a.awaitReturn(grantLimit), "%s was not granted within %v", what, grantLimit)
	k.require(a.err == nil, "%s was not granted: %v", what, a.err)
}

func checkHolds(k *checker) {
	c := k.client()
	wants := []bool{false, true, false}
	if k.p.Hello.Requeues { // after the release the client may lead again
		wants = wants[:2]
	}
	for _, want := range wants {
		holds, err := c.Holds()
		k.require(err == nil, "holds: %v", err)
		k.require(holds == want, "holds answered %v, want %v", holds, want)
		if want {
			k.release(c)
		} else {
			k.acquire(c)
		}
	}
}

func checkWrite(k *checker) {
	c := k.client()
	err := c.BeginWrite("written by check")(k.ctx)
	k.require(err == nil, "write: %v", err)
	data, _, _, err := k.Environment.Look(k.ctx, k.path+"-resource")
	k.must(err)
	k.require(data == "written by check", "the resource contains %q, not the value that was written", data)
}

func checkCancel(k *checker) {
	a, b := k.client(), k.client()
	k.acquire(a)
	waiting := k.waitingAcquire(b, "", "a second client's acquire")
	k.requireCancelled(waiting, b, "acquire")
	k.release(a)
	if k.p.Hello.Requeues { // the client may lead again by itself
		err := a.Close(k.ctx)
		k.require(err == nil, "close: %v", err)
	}
	k.acquire(b)
	k.release(b)
}

func checkCancelNothing(k *checker) {
	c := k.client()
	a := k.ask("cancel", c.Number())
	k.require(a.OK != nil, "cancel without a pending operation was not answered ok")
	k.acquire(c)
	k.release(c)
}

func checkLimit(k *checker) {
	a, b := k.client(), k.client()
	for _, limit := range []time.Duration{0, 300 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(k.ctx, grantLimit)
		defer cancel()
		_, err := a.AcquireWith(ctx, recipes.AcquireOptions{Limit: &limit})
		if limit == 0 && errors.Is(err, recipes.ErrNotAcquired) {
			k.note("no client holds the lock, but acquire with limit_ms 0 was answered with timeout: the recipe's own attempt ends before it knows that the lock is free")
			k.acquire(a)
			err = nil
		}
		k.require(err == nil, "no client holds the lock, but acquire with limit_ms %d failed: %v", limit.Milliseconds(), err)
		start := time.Now()
		_, err = b.AcquireWith(ctx, recipes.AcquireOptions{Limit: &limit})
		took := time.Since(start)
		k.require(errors.Is(err, recipes.ErrNotAcquired), "another client holds the lock, but acquire with limit_ms %d was not answered with timeout: %v", limit.Milliseconds(), err)
		k.require(took >= limit*9/10 && took < limit+5*time.Second, "acquire with limit_ms %d must wait for about that time, but took %v", limit.Milliseconds(), took)
		k.release(a)
	}
}

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

func checkPutTake(k *checker) {
	a, b := k.client(), k.client()
	items := []string{"check-1", "check-2 with some more text in it", "check-3" + strings.Repeat("x", lines.MaxItem-7)}
	for _, item := range items {
		k.put(a, item, "a put that nothing blocks")
	}
	var got []string
	for range items {
		t := k.beginTake(b)
		k.require(t.awaitReturn(grantLimit) && t.err == nil, "%d items are in the queue, but a take did not return any within %v: %v", len(items)-len(got), grantLimit, t.err)
		got = append(got, string(t.item))
	}
	sorted := slices.Sorted(slices.Values(got))
	k.require(slices.Equal(sorted, items), "the items put are %.60q, but the items taken are %.60q", items, got)
	if k.p.Hello.Promises.FIFO {
		k.require(slices.Equal(got, items), "fifo is promised: items were put in the order %.60q, but taken in the order %.60q", items, got)
	}
}

func checkWaitingTake(k *checker) {
	a, b := k.client(), k.client()
	t := k.waitingTake(b)
	k.must(k.p.MeasureClock(1))
	k.put(a, "check", "a put during a waiting take")
	k.require(t.awaitReturn(grantLimit) && t.err == nil && string(t.item) == "check", "an item was put, but the waiting take returned %q, %v", t.item, t.err)
}

func checkCancelledTake(k *checker) {
	a := k.client()
	t := k.waitingTake(a)
	t.giveUp()
	k.require(t.awaitReturn(2*timeout), "the cancelled take did not answer within %v", 2*timeout)
	k.require(t.err != nil, "a cancelled take returned an item of an empty queue: %q", t.item)
}
