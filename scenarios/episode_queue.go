package scenarios

import (
	"context"
	"sync"
)

// itemsPut is the number of items a producer puts for both consumers, and again at the end.
const itemsPut = 2

// handOut makes a producer put items one after the other: the first while one consumer takes alone,
// so that no other takes the missed item, the others for both.
func (p *episodeRun) handOut() {
	var takers sync.WaitGroup
	defer takers.Wait()
	defer p.stop()
	leave := make([]func(), len(p.st.clients)) // ends a consumer's takes
	join := func(i int) {
		ctx, cancel := context.WithCancel(p.calls)
		done := make(chan struct{})
		leave[i] = func() { cancel(); <-done }
		before := p.asked(i)
		takers.Go(func() { defer close(done); p.takeOn(ctx, i) })
		p.asks(i, before)
		p.atRest(i)
	}
	join(1)
	p.putOne()
	p.must(p.st.waitQueueEmpty(p.ctx, p.turnLimit()))
	join(2)
	p.waits()
	for range itemsPut * p.rounds() {
		if p.putOne(); !p.awaited() && p.rounds() > 1 {
			break
		}
	}
	p.outlast()
	if hit, other := p.hitConsumer(); hit > 0 { // alone: the other consumer would take the missed item
		leave[other]()
		p.putOne()
		p.must(p.st.waitQueueEmpty(p.ctx, p.turnLimit()))
		join(other)
	}
	for range itemsPut { // every consumer is served once more
		p.putOne()
	}
	p.must(p.st.waitQueueEmpty(p.ctx, p.turnLimit()))
}

// hitConsumer returns the consumer that the episode's fault hit, and the other one; 0 if it hit the
// producer, both or none.
func (p *episodeRun) hitConsumer() (hit, other int) {
	for _, x := range p.strikes {
		if x.begun.Load() && x.c.n > 0 && hit == 0 {
			hit = x.c.n
		} else if x.begun.Load() && x.c.n != hit {
			return 0, 0
		}
	}
	if len(p.st.clients) != 3 || hit == 0 {
		return 0, 0
	}
	return hit, 3 - hit
}

// backlogItems is the number of items a queue has before its consumers take.
const backlogItems = 6

// handOutBacklog lets both consumers take items that were in the queue before, and then more.
func (p *episodeRun) handOutBacklog() {
	var takers sync.WaitGroup
	defer takers.Wait()
	defer p.stop()
	for range backlogItems * p.rounds() {
		p.putOne()
	}
	for i := range p.st.clients[1:] {
		takers.Go(func() { p.takeOn(p.calls, i+1) })
	}
	p.must(p.st.waitQueueEmpty(p.ctx, p.turnLimit()))
	p.outlast()
	for range itemsPut {
		p.putOne()
	}
	p.must(p.st.waitQueueEmpty(p.ctx, p.turnLimit()))
}

// putOne makes the producer put an item, and waits until all clients are idle.
func (p *episodeRun) putOne() {
	c := p.st.clients[0]
	if !p.ready(p.ctx, 0) {
		p.must(context.Cause(p.ctx))
	}
	p.calling(0, callPut)
	if _, err := c.putNext(p.ctx); err != nil {
		c.recoverAfter(p.ctx, err)
	}
	for i := range p.st.clients {
		p.atRest(i)
	}
}

func (p *episodeRun) takeOn(ctx context.Context, i int) {
	for ctx.Err() == nil && p.ready(ctx, i) {
		p.calling(i, callTake)
		a := p.begin(i)
		select {
		case <-a.done:
		case <-ctx.Done():
			a.giveUp()
			<-a.done
		}
		if a.err != nil {
			a.c.recoverAfter(ctx, a.err)
		}
	}
}
