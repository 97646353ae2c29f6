package scenarios

import (
	"context"
	"time"
)

// moves counts the grants and releases so far of all but client n: a broken recipe may
// return from a call whose request is still held.
func (p *provoked) moves(n int) (all int64) {
	for _, c := range p.st.clients {
		if c.n != n {
			all += c.moves.Load()
		}
	}
	return all
}

// quietFor is how many polls in a row must show the same for a client to have come to rest,
// and restLimit how long that may take. One that polls, or whose request is held, does not.
const (
	quietFor  = 12
	restLimit = 300 * time.Millisecond
)

// askLimit is how long a client may take from its call to its first request. One that makes
// none at all costs an episode as much.
const askLimit = 2 * time.Second

// asks waits until client i has asked the servers for more than before, within limits: only
// then can it come to rest. A program of its own may take a while, and whoever is called after
// it would stand in line before it.
func (p *provoked) asks(i int, before int64) {
	_ = poll(p.ctx, askLimit, func(context.Context) (bool, error) {
		a := p.last(i)
		return p.late(i) || a != nil && a.ended() || p.asked(i) > before, nil
	})
	p.must(context.Cause(p.ctx))
}

// asked is how many requests client i has made.
func (p *provoked) asked(i int) int64 { return p.st.clients[i].wire.Counts().Requests.Total() }

// atRest waits until nothing moves on the wire of client i any more, within limits.
func (p *provoked) atRest(i int) {
	still := stillness{polls: stillPolls - quietFor}
	_ = poll(p.ctx, restLimit, func(context.Context) (bool, error) {
		if a := p.last(i); p.late(i) || a != nil && a.ended() {
			return true, nil
		}
		return still.see(p.st.clients[i].wire.Counts()), nil
	})
	p.must(context.Cause(p.ctx))
}

// manyRequests are so many that a client which makes them while it waits will not come to
// rest.
const manyRequests = 200

// restless waits until client i has come to rest, or has asked so much that it is
// clear that it will not.
func (p *provoked) restless(i int) {
	w := p.st.clients[i].wire
	before := w.Counts().Requests.Total()
	var still stillness
	_ = poll(p.ctx, grantLimit, func(context.Context) (bool, error) { // slow is fine too
		now := w.Counts()
		return still.see(now) || now.Requests.Total()-before > manyRequests, nil
	})
	p.must(context.Cause(p.ctx))
}

// allRestless waits for every client, but for those whom a fault makes late.
func (p *provoked) allRestless() {
	for k := range p.st.clients {
		if !p.late(k) {
			p.restless(k)
		}
	}
}
