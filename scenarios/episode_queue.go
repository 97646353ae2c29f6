package scenarios

import (
	"context"
	"sync"
)

// itemsPut is how many items a producer puts for both consumers, and once more in the end.
const itemsPut = 2

// handOut has a producer put items, one after the other: the first for a consumer that is
// alone, so that nobody else takes what it has missed, the others for both.
func (p *provoked) handOut() {
	var takers sync.WaitGroup
	defer takers.Wait()
	defer p.stop()
	join := func(i int) {
		before := p.asked(i)
		takers.Go(func() { p.takeOn(i) })
		p.asks(i, before)
		p.atRest(i)
	}
	join(1)
	p.putOne()
	p.must(p.st.emptied(p.ctx, p.turnLimit()))
	join(2)
	p.waits()
	for range itemsPut {
		p.putOne()
	}
	p.outlast()
	for range itemsPut { // everybody is served once more
		p.putOne()
	}
	p.must(p.st.emptied(p.ctx, p.turnLimit()))
}

// putOne has the producer put an item, and waits until all have come to rest.
func (p *provoked) putOne() {
	c := p.st.clients[0]
	if !p.ready(p.ctx, 0) {
		p.must(context.Cause(p.ctx))
	}
	p.calling(0, callPut)
	if _, err := c.putNext(p.ctx); err != nil {
		c.mend(p.ctx, err)
	}
	for i := range p.st.clients {
		p.atRest(i)
	}
}

// takeOn has client i take until it is called off.
func (p *provoked) takeOn(i int) {
	for p.calls.Err() == nil && p.ready(p.calls, i) {
		p.calling(i, callTake)
		a := p.begin(i)
		if <-a.done; a.err != nil {
			a.c.mend(p.calls, a.err)
		}
	}
}
