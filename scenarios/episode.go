package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// course is what has happened in an episode so far.
type course struct {
	mu       sync.Mutex
	made     map[int][]seenStep // calls, by client
	released int64
}

// called notes that client n is at a call, and returns for which time.
func (c *course) called(n int, call string, at time.Duration) (nth int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made == nil {
		c.made = map[int][]seenStep{}
	}
	c.made[n] = append(c.made[n], seenStep{step: step{op: call}, at: at})
	for _, s := range c.made[n] {
		if s.op == call {
			nth++
		}
	}
	return nth
}

func (c *course) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released++
}

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

// passable says that the first holder has not let go when x strikes, and can: it is another
// client, and no other fault strikes.
func (p *provoked) passable(x *strike) bool {
	p.course.mu.Lock()
	defer p.course.mu.Unlock()
	return !p.st.queue() && x.c.n > 0 && p.course.released == 0 && len(p.strikes) == 1
}

// late says that a fault is in force which makes client i late.
func (p *provoked) late(i int) bool {
	return slices.ContainsFunc(p.strikes, func(x *strike) bool { return x.c.n == i && x.fault.late && x.lasts() })
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

// episode has every client stand in line and hold once, or a producer put and the others
// take, while the faults strike at their steps. It returns when the faults are over.
func (p *provoked) episode(aims []aim) {
	ctx, cancel := context.WithCancel(p.ctx)
	var faults sync.WaitGroup
	defer faults.Wait()
	defer cancel()
	for _, a := range aims {
		x, err := p.newStrike(a.step, a.fault)
		p.must(err)
		p.strikes = append(p.strikes, x)
	}
	for _, x := range p.strikes {
		faults.Go(func() { x.run(ctx) })
	}
	if p.st.queue() {
		p.handOut()
	} else {
		for i := range p.st.clients {
			p.calling(i, callAcquire)
			before := p.asked(i)
			a := p.begin(i)
			if i == 0 && !slices.ContainsFunc(aims, func(a aim) bool { return a.step.client() == 0 }) {
				a.returned(p.ctx, p.turnLimit()) // the first call of a program just started takes its time
			}
			p.asks(i, before)
			p.atRest(i)
		}
		p.waits()
		p.everybody()
	}
	p.outlast()
	cancel() // what has not come does not come any more
}

// waits is the time in which all but the first client wait: nobody lets go or puts
// anything. A fault may strike one of them; then the others have the time to be wrong.
func (p *provoked) waits() {
	for i := range p.st.clients[1:] {
		x := p.calling(i+1, callWait)
		if x == nil {
			continue
		}
		select {
		case <-x.over:
		case <-p.ctx.Done():
		}
		for k := range p.st.clients {
			p.restless(k)
		}
	}
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

// outlast waits until the faults that have begun are over. One that follows upon a reply
// begins a moment after it.
func (p *provoked) outlast() {
	_ = poll(p.ctx, restLimit, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(p.strikes, func(x *strike) bool { return !x.begun.Load() }), nil
	})
	for _, x := range p.strikes {
		if x.begun.Load() {
			select {
			case <-x.over:
			case <-p.ctx.Done():
				p.must(context.Cause(p.ctx))
			}
		}
	}
}

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

// turnLimit is how long nobody may get on before a line counts as stuck.
func (p *provoked) turnLimit() time.Duration { return p.st.scenario.SessionTimeout + 3*time.Second }

// How long a holder goes on to act after a fault that struck while it held: as a rule, and
// where its session is gone, of which it should be told within a second.
const (
	believeFor     = 400 * time.Millisecond
	believeLostFor = 1500 * time.Millisecond
)

// holds is the time in which client i holds: it acts, and a fault may strike. sure says
// that it may let go; else it was told that it does not hold any more.
func (p *provoked) holds(ctx context.Context, a *attempt) (sure bool, err error) {
	p.act(a)
	session := a.c.wire.Session().ID
	if x := p.calling(a.c.n, callHold); x != nil {
		select {
		case <-x.over:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		p.challenged(ctx, a, session)
	} else if err := pause(ctx, p.st.phase.Hold); err != nil {
		return false, err
	}
	err = poll(ctx, p.turnLimit(), func(context.Context) (bool, error) {
		return !a.inDoubt() || a.c.lost(a.claim.Token), nil
	})
	if err != nil {
		return false, fmt.Errorf("client %d is in doubt about its grant, and stays so: %w", a.c.n, err)
	}
	return !a.inDoubt(), nil
}

// challenged has a holder whom a fault has met act for as long as it believes, once it is
// connected again, while another client tries to be granted. session is the one that it
// had before.
func (p *provoked) challenged(ctx context.Context, a *attempt, session int64) {
	acts := believeFor
	_ = poll(ctx, p.turnLimit(), func(context.Context) (bool, error) {
		s := a.c.wire.Session()
		if s.Expired || s.ID != session {
			acts = believeLostFor
			return true, nil
		}
		return s.Server != "" || a.c.lost(a.claim.Token), nil
	})
	var other sync.WaitGroup
	defer other.Wait()
	for i := range p.st.clients {
		if b := p.last(i); b != nil && b.over && i != a.c.n && p.ready(ctx, i) {
			b = p.begin(i)
			other.Go(func() {
				if b.returned(ctx, believeFor) && b.err == nil {
					p.act(b)
					_ = pause(ctx, believeFor/2)
					p.letGo(b)
				}
			})
			break
		}
	}
	p.believe(a, acts)
}

// ready gives client i a session where it has none.
func (p *provoked) ready(ctx context.Context, i int) bool {
	c := p.st.clients[i]
	return c.opened() || c.reopen(ctx) == nil
}

// everybody lets every client have a turn that ends: those who wait get theirs, those
// who do not stand in line. stuck says that nobody got on any more.
func (p *provoked) everybody() (stuck bool) {
	ctx, cancel := context.WithCancel(p.ctx)
	finished := make(chan struct{}, len(p.st.clients))
	var turns sync.WaitGroup
	for i := range p.st.clients {
		turns.Go(func() {
			if p.oneTurn(ctx, i) {
				finished <- struct{}{}
			}
		})
	}
	defer turns.Wait()
	defer cancel()
	for range p.st.clients {
		select {
		case <-finished:
		case <-time.After(p.turnLimit()):
			return true
		case <-ctx.Done():
			return true
		}
	}
	return false
}

// oneTurn sees client i through one turn. It returns false if that came to no end.
func (p *provoked) oneTurn(ctx context.Context, i int) bool {
	for ctx.Err() == nil {
		a := p.last(i)
		if a == nil || a.over || a.ended() && a.err != nil {
			if !p.ready(ctx, i) {
				return false
			}
			p.calling(i, callAcquire)
			a = p.begin(i)
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return false
		}
		if a.err != nil {
			a.c.mend(ctx, a.err)
			continue
		}
		sure, err := p.holds(ctx, a)
		if err != nil {
			return false // it steps back and does not come back: nothing for it to let go
		}
		if sure {
			p.letGo(a)
			return true
		}
		a.over, a.err = true, recipes.ErrSessionEnded // it begins anew
		a.c.mend(ctx, a.err)
	}
	return false
}
