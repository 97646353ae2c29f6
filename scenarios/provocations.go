package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// provocations is everything that is done to subjects, locks and elections first.
var provocations = []provocation{
	{name: "crowd", clients: 8, run: crowd},
	{name: "newcomers", clients: 8, run: newcomers},
	{name: "line", clients: 10, run: standInLine},
	{name: "wrapped-numbers", clients: 6, run: wrappedNumbers},
	{name: "waiter-dies", clients: 4, run: waiterDies},
	{name: "create-reply-lost", clients: 3, run: createReplyLost},
	{name: "create-reply-lost-away", clients: 3, run: createReplyLostAway},
	{name: "cut-at-list", clients: 3, run: cutAtList},
	{name: "request-unsent", clients: 2, run: requestUnsent},
	{name: "holder-expires", clients: 3, run: holderExpires},
	{name: "holder-blinks", clients: 3, run: holderBlinks},
	{name: "predecessor-leaves", clients: 3, run: predecessorLeaves},
	{name: "cut-at-delete", clients: 3, run: cutAtDelete},
	{name: "take-reply-lost", clients: 2, queue: true, run: takeReplyLost},
	{name: "put-reply-lost", clients: 2, queue: true, run: putReplyLost},
	{name: "race", clients: 3, queue: true, run: race},
	{name: "put-between", clients: 2, queue: true, run: putBetween},
	{name: "backlog", clients: 2, queue: true, run: putThenTake},
}

// crowd has everybody contend and hold in turn for a while, and for some rounds even
// where the machine is slow.
func crowd(ctx context.Context, p *provoked) error {
	ctx, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	enough, before := time.Now().Add(1500*time.Millisecond), p.st.grants.Load()
	return each(p.st.clients, len(p.st.clients), func(c *client) error {
		for ctx.Err() == nil {
			a := c.begin(ctx)
			if <-a.done; a.err != nil {
				return nil
			}
			until := time.Now().Add(p.st.phase.Hold)
			p.act(context.WithoutCancel(ctx), a)
			_ = pause(context.WithoutCancel(ctx), time.Until(until))
			p.letGo(ctx, a)
			if time.Now().After(enough) && p.st.grants.Load()-before >= 40 {
				cancel()
			}
		}
		return nil
	})
}

// newcomers has seven join behind a holder and give up, eight times over. Each holder
// should notice nothing. Where a newcomer's name stands is a matter of chance, so it takes
// some rounds.
func newcomers(ctx context.Context, p *provoked) error {
	n := len(p.st.clients)
	for k := range n {
		holder, err := p.first(ctx, k)
		if err != nil {
			return err
		}
		for i := range n {
			if i != k {
				p.begin(i)
			}
		}
		if err := p.inLine(ctx, n); err != nil {
			return err
		}
		for i := range n {
			if i != k {
				p.last(i).giveUp()
			}
		}
		for i := range n {
			if a := p.last(i); a != holder {
				if <-a.done; a.err == nil {
					p.letGo(ctx, a)
				}
			}
		}
		p.letGo(ctx, holder)
	}
	return nil
}

// standInLine drains a full line once and counts what that costs.
func standInLine(ctx context.Context, p *provoked) error {
	p.st.round = 1
	return drainOnce(ctx, p.st)
}

// wrappedNumbers is a crowd whose sequence numbers are negative, as after the wrap of the
// parent's counter.
func wrappedNumbers(ctx context.Context, p *provoked) error {
	p.st.dial = wrapNumbers
	if err := p.st.renew(ctx); err != nil {
		return err
	}
	now := p.st.clock.Now()
	p.st.record.Record(&history.Window{Fault: "numbers.wrap", Target: "every client", Client: -1, Start: now, End: now,
		Proof: fmt.Sprintf("every number from the servers is handed on less %d", wrapBy)})
	return crowd(ctx, p)
}

// waiterDies has a waiter in the middle of the line lose its session.
func waiterDies(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 3)
	if err != nil {
		return err
	}
	if err := p.st.inject(ctx, chaos.SessionClose{Client: "2"}); err != nil {
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
	return p.loseCreateReply(ctx, func() error { return nil })
}

// createReplyLostAway keeps the client away for as long as one that gives up its
// connection needs to do so.
func createReplyLostAway(ctx context.Context, p *provoked) error {
	away := p.st.clients[1].wire
	away.Gate(true)
	defer away.Gate(false)
	return p.loseCreateReply(ctx, func() error {
		err := pause(ctx, 1300*time.Millisecond)
		away.Gate(false)
		return err
	})
}

// loseCreateReply drops the reply to the create of a waiter behind a holder.
func (p *provoked) loseCreateReply(ctx context.Context, then func() error) error {
	holder, err := p.first(ctx, 0)
	if err != nil {
		return err
	}
	shot, err := p.aim(1, wire.Rule{Op: wire.Create, Path: p.st.parent + "/**", Act: wire.DropReply})
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

// cutAtList breaks the connection when a waiter lists the line.
func cutAtList(ctx context.Context, p *provoked) error {
	holder, err := p.first(ctx, 0)
	if err != nil {
		return err
	}
	shot, err := p.aim(1, wire.Rule{Op: wire.GetChildren2, Path: p.st.parent, Act: wire.CutBefore})
	if err != nil {
		return err
	}
	p.begin(1)
	p.hit(ctx, shot)
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
	if err := p.st.inject(ctx, chaos.SessionClose{Client: "0"}); err != nil {
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
	if err := p.st.inject(ctx, chaos.SessionClose{Client: "0"}); err != nil {
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
	if err := p.st.inject(ctx, chaos.SessionFlap{Client: "0", Down: 100 * time.Millisecond}); err != nil {
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
