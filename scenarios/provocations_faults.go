package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
)

// waiterDies has a waiter in the middle of the line lose its session.
func waiterDies(p *provoked) {
	holder := p.waiting(3)
	p.must(p.st.inject(p.ctx, "session.close", "2", nil))
	p.everywhere(3)                                 // or who is told late finds the others gone as well
	p.last(3).returned(p.ctx, 300*time.Millisecond) // it must not be granted, and has the time to be wrong
	p.restless(3)
	p.act(holder)
	p.letGo(holder)
}

// createReplyLost loses the reply to a waiter's create.
func createReplyLost(p *provoked) { p.hitWaiter(p.lostCreate(), func() {}) }

// createReplyLostAway keeps the client away for as long as one that gives up its
// connection needs to do so.
func createReplyLostAway(p *provoked) {
	away := p.st.clients[1].wire
	away.Gate(true)
	defer away.Gate(false)
	p.hitWaiter(p.lostCreate(), func() {
		p.must(pause(p.ctx, 1300*time.Millisecond))
		away.Gate(false)
	})
}

func (p *provoked) lostCreate() wire.Rule {
	return wire.Rule{Op: wire.Create, Path: p.st.parent + "/**", Act: wire.DropReply}
}

// cutAtList breaks the connection when a waiter lists the line.
func cutAtList(p *provoked) {
	p.hitWaiter(wire.Rule{Op: wire.GetChildren2, Path: p.st.parent, Act: wire.CutBefore}, func() {})
}

// hitWaiter has a rule hit the client that stands in line behind a holder.
func (p *provoked) hitWaiter(rule wire.Rule, then func()) {
	holder := p.first(0)
	shot := p.aim(1, rule)
	p.begin(1)
	p.hit(shot)
	then()
	p.connected(1)
	p.inLine(2)
	p.letGo(holder)
}

// requestUnsent has a session expire while a request waits to be sent in it.
func requestUnsent(p *provoked) {
	back := p.cutOff(0)
	defer back()
	a := p.begin(0)
	p.must(p.st.inject(p.ctx, "session.close", "0", nil))
	back()
	a.returned(p.ctx, grantLimit)
}

// holderExpires cuts the holder off until its session has expired.
func holderExpires(p *provoked) {
	holder := p.waiting(2)
	back := p.cutOff(0)
	defer back()
	p.must(p.st.inject(p.ctx, "session.close", "0", nil))
	if next := p.last(1); next.returned(p.ctx, grantLimit) && next.err == nil {
		p.act(next)
	}
	away := p.st.clients[0].wire
	old := away.Session().ID
	back()
	err := poll(p.ctx, grantLimit, func(context.Context) (bool, error) {
		s := away.Session()
		return s.Expired || s.ID != old || holder.inDoubt(), nil
	})
	if err != nil {
		p.must(fmt.Errorf("wait until the holder has been told that its session is gone: %w", err))
	}
	p.believe(holder, 1500*time.Millisecond)
	p.letGo(holder)
	holder.err = recipes.ErrSessionEnded // the client begins anew
}

// believe has a holder act for as long as it believes, at most for a while.
func (p *provoked) believe(a *attempt, limit time.Duration) {
	until := time.Now().Add(limit)
	for !a.inDoubt() && time.Now().Before(until) && p.ctx.Err() == nil {
		a.write(p.ctx)
		_ = pause(p.ctx, writeEvery)
	}
}

// holderBlinks breaks the holder's connection, which comes back with the same session.
func holderBlinks(p *provoked) {
	holder := p.waiting(2)
	p.must(p.st.inject(p.ctx, "session.flap", "0", map[string]string{"down": "100ms"}))
	// A sound holder learns within milliseconds that it may go on; everybody lets it, or not.
	_ = poll(p.ctx, time.Second, func(context.Context) (bool, error) { return !holder.inDoubt(), nil })
	p.must(context.Cause(p.ctx))
}

// predecessorLeaves has the node ahead go between a waiter's list and its question for it.
func predecessorLeaves(p *provoked) {
	holder := p.first(0)
	shot := p.aim(1, wire.Rule{Path: holder.claim.Path, Act: wire.HoldRequest})
	p.begin(1)
	p.inLine(2)
	// Who does not ask for the node ahead of it cannot be told too late that it is gone.
	asked := p.st.clients[1].wire.Counts().Queued > 0
	p.letGo(holder)
	if asked {
		p.everywhere(1)
		p.hit(shot)
	}
	shot.Disarm()
}

// cutAtDelete breaks the connection when the holder deletes its node.
func cutAtDelete(p *provoked) {
	holder := p.waiting(1)
	shot := p.aim(0, wire.Rule{Op: wire.Delete, Path: holder.claim.Path, Act: wire.CutBefore})
	p.letGo(holder)
	p.hit(shot)
	p.connected(0)
}

// restless waits until client i has come to rest, or has asked so much that it is
// clear that it will not.
func (p *provoked) restless(i int) {
	w := p.st.clients[i].wire
	before := w.Counts().Requests.Total()
	var still stillness
	_ = poll(p.ctx, grantLimit, func(context.Context) (bool, error) { // slow is fine too
		now := w.Counts()
		return still.see(now) || now.Requests.Total()-before > 200, nil
	})
}
