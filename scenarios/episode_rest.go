package scenarios

import (
	"context"
	"time"
)

// moves counts the grants and releases of all clients but n: a broken recipe may return from a call
// while its request is held.
func (p *episodeRun) moves(n int) (all int64) {
	for _, c := range p.st.clients {
		if c.n != n {
			all += c.moves.Load()
		}
	}
	return all
}

// quietFor is the number of successive polls that must show the same counts for a client to be idle, and
// restLimit is the limit of that time. A client that polls, or whose request is held, is never idle.
const (
	quietFor  = 12
	restLimit = 300 * time.Millisecond
)

const askLimit = 2 * time.Second

// asks waits, within askLimit, until client i has sent a request. A separate process needs a
// while, and a client called after it would join the queue before it.
func (p *episodeRun) asks(i int, before int64) {
	_ = poll(p.ctx, askLimit, func(context.Context) (bool, error) {
		a := p.last(i)
		return p.late(i) || a != nil && a.ended() || p.asked(i) > before, nil
	})
	p.must(context.Cause(p.ctx))
}

func (p *episodeRun) asked(i int) int64 { return p.st.clients[i].wire.Counts().Requests.Total() }

// atRest waits, within limits, until client i is idle on the wire.
func (p *episodeRun) atRest(i int) {
	still := stillness{polls: stillPolls - quietFor}
	_ = poll(p.ctx, restLimit, func(context.Context) (bool, error) {
		if a := p.last(i); p.late(i) || a != nil && a.ended() {
			return true, nil
		}
		return still.see(p.st.clients[i].wire.Counts()), nil
	})
	p.must(context.Cause(p.ctx))
}

// manyRequests is a number of requests: a client that sends them while it waits will not become idle.
const manyRequests = 200

// restless waits until client i is idle, or has sent so many requests that it will not be.
func (p *episodeRun) restless(i int) {
	w := p.st.clients[i].wire
	before := w.Counts().Requests.Total()
	var still stillness
	_ = poll(p.ctx, grantLimit, func(context.Context) (bool, error) { // slow is accepted
		now := w.Counts()
		return still.see(now) || now.Requests.Total()-before > manyRequests, nil
	})
	p.must(context.Cause(p.ctx))
}

// allRestless waits for every client that no fault delays.
func (p *episodeRun) allRestless() {
	for k := range p.st.clients {
		if !p.late(k) {
			p.restless(k)
		}
	}
}
