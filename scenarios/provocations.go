package scenarios

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
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
func crowd(p *provoked) {
	ctx, cancel := context.WithTimeout(p.ctx, 6*time.Second)
	defer cancel()
	enough, before := time.Now().Add(1500*time.Millisecond), p.st.grants.Load()
	_ = each(p.st.clients, len(p.st.clients), func(c *client) error {
		for ctx.Err() == nil {
			a := c.begin(ctx)
			if <-a.done; a.err != nil {
				return nil
			}
			until := time.Now().Add(p.st.phase.Hold)
			p.act(a)
			_ = pause(p.ctx, time.Until(until))
			p.letGo(a)
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
func newcomers(p *provoked) {
	n := len(p.st.clients)
	for k := range n {
		holder := p.first(k)
		for i := range n {
			if i != k {
				p.begin(i)
			}
		}
		p.inLine(n)
		for i := range n {
			if i != k {
				p.last(i).giveUp()
			}
		}
		for i := range n {
			if a := p.last(i); a != holder {
				if <-a.done; a.err == nil {
					p.letGo(a)
				}
			}
		}
		p.letGo(holder)
	}
}

// standInLine drains a full line once and counts what that costs.
func standInLine(p *provoked) {
	p.st.round = 1
	p.must(drainOnce(p.ctx, p.st))
}

// wrappedNumbers is a crowd whose sequence numbers are negative, as after the wrap of the
// parent's counter.
func wrappedNumbers(p *provoked) {
	p.st.dial = wire.Renumber
	p.must(p.st.renew(p.ctx))
	now := p.st.clock.Now()
	p.st.record.Record(&history.Window{Fault: "numbers.wrap", Target: "every client", Client: -1, Start: now, End: now,
		Proof: fmt.Sprintf("every number from the servers is handed on less %d", wire.Renumbered)})
	crowd(p)
}
