package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
)

// waiterDies has a waiter in the middle of the line lose its session.
func waiterDies(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 3)
	if err != nil {
		return err
	}
	if err := p.st.inject(ctx, "session.close", "2", nil); err != nil {
		return err
	}
	if err := p.everywhere(ctx, 3); err != nil { // or who is told late finds the others gone as well
		return err
	}
	p.last(3).returned(ctx, 300*time.Millisecond) // it must not be granted, and has the time to be wrong
	p.restless(ctx, 3)
	p.act(ctx, holder)
	p.letGo(ctx, holder)
	return nil
}

// createReplyLost loses the reply to a waiter's create.
func createReplyLost(ctx context.Context, p *provoked) error {
	return p.hitWaiter(ctx, p.lostCreate(), func() error { return nil })
}

// createReplyLostAway keeps the client away for as long as one that gives up its
// connection needs to do so.
func createReplyLostAway(ctx context.Context, p *provoked) error {
	away := p.st.clients[1].wire
	away.Gate(true)
	defer away.Gate(false)
	return p.hitWaiter(ctx, p.lostCreate(), func() error {
		err := pause(ctx, 1300*time.Millisecond)
		away.Gate(false)
		return err
	})
}

func (p *provoked) lostCreate() wire.Rule {
	return wire.Rule{Op: wire.Create, Path: p.st.parent + "/**", Act: wire.DropReply}
}

// cutAtList breaks the connection when a waiter lists the line.
func cutAtList(ctx context.Context, p *provoked) error {
	rule := wire.Rule{Op: wire.GetChildren2, Path: p.st.parent, Act: wire.CutBefore}
	return p.hitWaiter(ctx, rule, func() error { return nil })
}

// hitWaiter has a rule hit the client that stands in line behind a holder.
func (p *provoked) hitWaiter(ctx context.Context, rule wire.Rule, then func() error) error {
	holder, err := p.first(ctx, 0)
	if err != nil {
		return err
	}
	shot, err := p.aim(1, rule)
	if err != nil {
		return err
	}
	p.begin(1)
	p.hit(ctx, shot)
	if err := then(); err != nil {
		return err
	}
	if err := p.connected(ctx, 1); err != nil {
		return err
	}
	if err := p.inLine(ctx, 2); err != nil {
		return err
	}
	p.letGo(ctx, holder)
	return nil
}

// requestUnsent has a session expire while a request waits to be sent in it.
func requestUnsent(ctx context.Context, p *provoked) error {
	back := p.cutOff(0)
	defer back()
	a := p.begin(0)
	if err := p.st.inject(ctx, "session.close", "0", nil); err != nil {
		return err
	}
	back()
	a.returned(ctx, grantLimit)
	return nil
}

// holderExpires cuts the holder off until its session has expired.
func holderExpires(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 2)
	if err != nil {
		return err
	}
	back := p.cutOff(0)
	defer back()
	if err := p.st.inject(ctx, "session.close", "0", nil); err != nil {
		return err
	}
	if next := p.last(1); next.returned(ctx, grantLimit) && next.err == nil {
		p.act(ctx, next)
	}
	away := p.st.clients[0].wire
	old := away.Session().ID
	back()
	err = poll(ctx, grantLimit, func(context.Context) (bool, error) {
		s := away.Session()
		return s.Expired || s.ID != old || holder.inDoubt(), nil
	})
	if err != nil {
		return fmt.Errorf("wait until the holder has been told that its session is gone: %w", err)
	}
	p.believe(ctx, holder, 1500*time.Millisecond)
	p.letGo(ctx, holder)
	holder.err = recipes.ErrSessionEnded // the client begins anew
	return nil
}

// believe has a holder act for as long as it believes, at most for a while.
func (p *provoked) believe(ctx context.Context, a *attempt, limit time.Duration) {
	until := time.Now().Add(limit)
	for !a.inDoubt() && time.Now().Before(until) && ctx.Err() == nil {
		a.write(ctx)
		_ = pause(ctx, writeEvery)
	}
}

// holderBlinks breaks the holder's connection, which comes back with the same session.
func holderBlinks(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 2)
	if err != nil {
		return err
	}
	if err := p.st.inject(ctx, "session.flap", "0", map[string]string{"down": "100ms"}); err != nil {
		return err
	}
	// A sound holder learns within milliseconds that it may go on.
	err = poll(ctx, time.Second, func(context.Context) (bool, error) { return !holder.inDoubt(), nil })
	if err != nil && ctx.Err() != nil {
		return err
	}
	return nil // everybody lets it go on, or not
}

// predecessorLeaves has the node ahead go between a waiter's list and its question for it.
func predecessorLeaves(ctx context.Context, p *provoked) error {
	holder, err := p.first(ctx, 0)
	if err != nil {
		return err
	}
	shot, err := p.aim(1, wire.Rule{Path: holder.claim.Path, Act: wire.HoldRequest})
	if err != nil {
		return err
	}
	p.begin(1)
	if err := p.inLine(ctx, 2); err != nil {
		return err
	}
	// Who does not ask for the node ahead of it cannot be told too late that it is gone.
	asked := p.st.clients[1].wire.Counts().Queued > 0
	p.letGo(ctx, holder)
	if asked {
		if err := p.everywhere(ctx, 1); err != nil {
			return err
		}
		p.hit(ctx, shot)
	}
	shot.Release()
	shot.Disarm()
	return nil
}

// cutAtDelete breaks the connection when the holder deletes its node.
func cutAtDelete(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 1)
	if err != nil {
		return err
	}
	shot, err := p.aim(0, wire.Rule{Op: wire.Delete, Path: holder.claim.Path, Act: wire.CutBefore})
	if err != nil {
		return err
	}
	p.letGo(ctx, holder)
	p.hit(ctx, shot)
	return p.connected(ctx, 0)
}

// restless waits until client i has come to rest, or has asked so much that it is
// clear that it will not.
func (p *provoked) restless(ctx context.Context, i int) {
	w := p.st.clients[i].wire
	before := w.Counts().Requests.Total()
	var still stillness
	_ = poll(ctx, grantLimit, func(context.Context) (bool, error) { // slow is fine too
		now := w.Counts()
		return still.see(now) || now.Requests.Total()-before > 200, nil
	})
}
