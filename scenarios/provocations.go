package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// provocations is everything that is done to subjects, locks and elections first.
var provocations = []provocation{
	{name: "crowd", about: "eight contend and hold in turn, over and over", clients: 8, run: crowd},
	{name: "newcomers", about: "seven join behind a holder and give up, eight times over", clients: 8, run: newcomers},
	{name: "line", about: "ten stand in line, and it drains", clients: 10, run: standInLine},
	{name: "wrapped-numbers", about: "sequence numbers are negative, as after the wrap of the parent's counter", clients: 6, run: wrappedNumbers},
	{name: "waiter-dies", about: "a waiter in the middle of the line loses its session", clients: 4, run: waiterDies},
	{name: "create-reply-lost", about: "the reply to a waiter's create is lost", clients: 3, run: createReplyLost},
	{name: "create-reply-lost-away", about: "the reply to a create is lost, and its client cannot connect for a while", clients: 3, run: createReplyLostAway},
	{name: "cut-at-list", about: "the connection breaks when a waiter lists the line", clients: 3, run: cutAtList},
	{name: "request-unsent", about: "a session expires while a request waits to be sent in it", clients: 2, run: requestUnsent},
	{name: "holder-expires", about: "the holder is cut off until its session has expired", clients: 3, run: holderExpires},
	{name: "holder-blinks", about: "the holder's connection breaks and comes back with the same session", clients: 3, run: holderBlinks},
	{name: "predecessor-leaves", about: "the node ahead goes between a waiter's list and its question for it", clients: 3, run: predecessorLeaves},
	{name: "cut-at-delete", about: "the connection breaks when the holder deletes its node", clients: 3, run: cutAtDelete},
	{name: "take-reply-lost", about: "the reply to a consumer's delete is lost", clients: 2, queue: true, run: takeReplyLost},
	{name: "put-reply-lost", about: "the reply to a producer's create is lost", clients: 2, queue: true, run: putReplyLost},
	{name: "race", about: "two consumers delete the same item at the same time", clients: 3, queue: true, run: race},
	{name: "put-between", about: "an item is put after a consumer found none, and before it asks again", clients: 2, queue: true, run: putBetween},
	{name: "backlog", about: "five items are put, then taken", clients: 2, queue: true, run: putThenTake},
}

// crowd has everybody contend for a while, and for some rounds even where the machine
// is slow.
func crowd(ctx context.Context, p *provoked) error {
	ctx, cancel := context.WithTimeout(ctx, 6*time.Second)
	defer cancel()
	enough, before := time.Now().Add(1500*time.Millisecond), p.grants.Load()
	var all sync.WaitGroup
	for i := range p.clients {
		all.Go(func() {
			for ctx.Err() == nil {
				tn := &turn{c: p.clients[i]}
				if tn.claim, tn.err = tn.c.acquire(ctx); tn.err != nil {
					return
				}
				until := time.After(p.phase.Hold)
				p.act(context.WithoutCancel(ctx), tn)
				<-until
				p.letGo(ctx, tn)
				if time.Now().After(enough) && p.grants.Load()-before >= 40 {
					cancel()
				}
			}
		})
	}
	all.Wait()
	return nil
}

// newcomers joins and leaves behind holders of which each should notice nothing. Where
// a newcomer's name stands is a matter of chance, so it takes some rounds.
func newcomers(ctx context.Context, p *provoked) error {
	for k := range 8 {
		holder, err := p.first(ctx, k)
		if err != nil {
			return err
		}
		joining, giveUp := context.WithCancel(ctx)
		defer giveUp()
		for i := range p.clients {
			if i != k {
				p.beginIn(joining, i)
			}
		}
		if err := p.inLine(ctx, len(p.clients)); err != nil {
			return err
		}
		giveUp()
		for _, tn := range p.turns {
			<-tn.done
			if tn != holder && tn.err == nil {
				p.letGo(ctx, tn)
			}
		}
		p.letGo(ctx, holder)
	}
	return nil
}

// standInLine drains a full line once and counts what that costs.
func standInLine(ctx context.Context, p *provoked) error {
	p.round = 1
	d := &drain{trial: p.trial, quiet: counts{fired: -1, watches: -1}, granted: make(chan granted, len(p.clients))}
	return d.run(ctx)
}

// wrappedNumbers is a crowd whose sequence numbers are negative.
func wrappedNumbers(ctx context.Context, p *provoked) error {
	p.closeClients()
	p.dial = wire.Renumber
	for _, c := range p.clients {
		if err := c.open(ctx); err != nil {
			return err
		}
	}
	now := p.clock.Now()
	p.record.Record(&history.Window{Fault: "numbers.wrap", Target: "every client", Client: -1, Start: now, End: now,
		Proof: fmt.Sprintf("every number from the servers is handed on less %d", wire.Renumbered)})
	return crowd(ctx, p)
}

// waiting has client 0 hold and the next n wait behind it, in their order.
func (p *provoked) waiting(ctx context.Context, n int) (holder *turn, err error) {
	if holder, err = p.first(ctx, 0); err != nil {
		return nil, err
	}
	for i := 1; i <= n; i++ {
		p.begin(i)
		if err := p.inLine(ctx, i+1); err != nil {
			return nil, err
		}
	}
	return holder, nil
}

func waiterDies(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 3)
	if err != nil {
		return err
	}
	if err := p.strike(ctx, "session.close", "2", nil); err != nil {
		return err
	}
	if err := p.everywhere(ctx, 3); err != nil { // or who is told late finds the others gone as well
		return err
	}
	p.await(ctx, p.turns[3], 300*time.Millisecond) // it must not be granted, and has the time to be wrong
	p.restless(ctx, 3)
	p.act(ctx, holder)
	p.letGo(ctx, holder)
	return nil
}

func createReplyLost(ctx context.Context, p *provoked) error {
	return p.loseCreateReply(ctx, func() error { return nil })
}

// createReplyLostAway keeps the client away for as long as one that gives up its
// connection needs to do so.
func createReplyLostAway(ctx context.Context, p *provoked) error {
	p.clients[1].wire.Gate(true)
	defer p.clients[1].wire.Gate(false)
	return p.loseCreateReply(ctx, func() error {
		select {
		case <-time.After(1300 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
		p.clients[1].wire.Gate(false)
		return nil
	})
}

// loseCreateReply drops the reply to the create of a waiter behind a holder.
func (p *provoked) loseCreateReply(ctx context.Context, then func() error) error {
	holder, err := p.first(ctx, 0)
	if err != nil {
		return err
	}
	shot, err := p.arm(1, wire.Rule{Op: wire.Create, Path: p.parent + "/**", Act: wire.DropReply})
	if err != nil {
		return err
	}
	p.begin(1)
	p.hit(ctx, shot, true)
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

func cutAtList(ctx context.Context, p *provoked) error {
	holder, err := p.first(ctx, 0)
	if err != nil {
		return err
	}
	shot, err := p.arm(1, wire.Rule{Op: wire.GetChildren2, Path: p.parent, Act: wire.CutBefore})
	if err != nil {
		return err
	}
	p.begin(1)
	p.hit(ctx, shot, true)
	if err := p.connected(ctx, 1); err != nil {
		return err
	}
	if err := p.inLine(ctx, 2); err != nil {
		return err
	}
	p.letGo(ctx, holder)
	return nil
}

func requestUnsent(ctx context.Context, p *provoked) error {
	away := p.clients[0].wire
	away.Gate(true)
	defer away.Gate(false)
	away.Cut()
	tn := p.begin(0)
	if err := p.strike(ctx, "session.close", "0", nil); err != nil {
		return err
	}
	away.Gate(false)
	p.await(ctx, tn, grantLimit)
	return nil
}

func holderExpires(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 2)
	if err != nil {
		return err
	}
	away := p.clients[0].wire
	away.Gate(true)
	defer away.Gate(false)
	away.Cut()
	if err := p.strike(ctx, "session.close", "0", nil); err != nil {
		return err
	}
	if next := p.turns[1]; p.await(ctx, next, grantLimit) && next.err == nil {
		p.act(ctx, next)
	}
	old := away.Session().ID
	away.Gate(false)
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
func (p *provoked) believe(ctx context.Context, tn *turn, limit time.Duration) {
	ticker := time.NewTicker(writeEvery)
	defer ticker.Stop()
	until := time.Now().Add(limit)
	for !tn.inDoubt() && time.Now().Before(until) {
		tn.c.write(ctx, tn.claim)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func holderBlinks(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 2)
	if err != nil {
		return err
	}
	if err := p.strike(ctx, "session.flap", "0", map[string]string{"down": "100ms"}); err != nil {
		return err
	}
	// A sound holder learns within milliseconds that it may go on.
	err = poll(ctx, time.Second, func(context.Context) (bool, error) { return !holder.inDoubt(), nil })
	if err != nil && ctx.Err() != nil {
		return err
	}
	return nil // everybody lets it go on, or not
}

func predecessorLeaves(ctx context.Context, p *provoked) error {
	holder, err := p.first(ctx, 0)
	if err != nil {
		return err
	}
	shot, err := p.arm(1, wire.Rule{Path: holder.claim.Path, Act: wire.HoldRequest})
	if err != nil {
		return err
	}
	p.begin(1)
	if err := p.inLine(ctx, 2); err != nil {
		return err
	}
	// Who does not ask for the node ahead of it cannot be told too late that it is gone.
	asked := p.clients[1].wire.Counts().Queued > 0
	p.letGo(ctx, holder)
	if asked {
		if err := p.everywhere(ctx, 1); err != nil {
			return err
		}
		p.hit(ctx, shot, true)
	}
	shot.Release()
	shot.Disarm()
	return nil
}

func cutAtDelete(ctx context.Context, p *provoked) error {
	holder, err := p.waiting(ctx, 1)
	if err != nil {
		return err
	}
	shot, err := p.arm(0, wire.Rule{Op: wire.Delete, Path: holder.claim.Path, Act: wire.CutBefore})
	if err != nil {
		return err
	}
	p.letGo(ctx, holder)
	p.hit(ctx, shot, true)
	return p.connected(ctx, 0)
}

// restless waits until client i has come to rest, or has asked so much that it is
// clear that it will not.
func (p *provoked) restless(ctx context.Context, i int) {
	before := p.clients[i].wire.Counts().Requests.Total()
	last, still := before, 0
	_ = poll(ctx, grantLimit, func(context.Context) (bool, error) { // slow is fine too
		now := p.clients[i].wire.Counts()
		if still++; now.Requests.Total() != last || now.InFlight > 0 {
			still = 0
		}
		last = now.Requests.Total()
		return still >= stillPolls || last-before > 200, nil
	})
}
