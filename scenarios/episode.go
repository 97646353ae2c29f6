package scenarios

import (
	"context"
	"slices"
	"sync"
	"time"
)

// course is what has happened in an episode so far.
type course struct {
	mu       sync.Mutex
	made     map[int][]seenStep // calls, by client
	released int64
	acting   map[int]time.Duration // by client: when it was granted what a fault has met it with, or what it is letting go
}

// begins notes that client n, granted at an instant, lets go, or that a fault meets it as it holds.
func (c *course) begins(n int, granted time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acting == nil {
		c.acting = map[int]time.Duration{}
	}
	c.acting[n] = granted
}

// ends notes that it is through with that.
func (c *course) ends(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.acting, n)
}

// before returns who was granted before that and is not through yet.
func (c *course) before(granted time.Duration) (clients []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, at := range c.acting {
		if at < granted {
			clients = append(clients, n)
		}
	}
	return clients
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
	switch {
	case slices.ContainsFunc(aims, func(a aim) bool { return slices.Contains(backlogRoles, a.step.role) }):
		p.handOutBacklog()
	case p.st.queue():
		p.handOut()
	default:
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
		for range p.rounds() {
			if stuck := p.everybody(); stuck || !p.awaited() {
				break
			}
		}
	}
	p.outlast()
	cancel() // what has not come does not come any more
}

// rounds is how many turns each client has at most: more than one where a fault is aimed at a
// step that one turn does not reach.
func (p *provoked) rounds() (n int) {
	n = 1
	for _, x := range p.strikes {
		if x.at.nth > mostOf {
			n = max(n, x.at.nth)
		}
	}
	return n
}

// awaited reports whether a step has not come yet.
func (p *provoked) awaited() bool {
	return slices.ContainsFunc(p.strikes, func(x *strike) bool { return !x.begun.Load() })
}

// waits is the time in which all but the first client wait: nobody lets go or puts
// anything. A fault may strike one of them, when all wait: whoever is slow to see the line
// would only see what the fault has left of it. Then the others have the time to be wrong.
func (p *provoked) waits() {
	if slices.ContainsFunc(p.strikes, func(x *strike) bool { return x.at.kind() == atWait }) {
		p.allRestless()
	}
	for i := range p.st.clients[1:] {
		x := p.calling(i+1, callWait)
		if x == nil {
			continue
		}
		select {
		case <-x.over:
		case <-p.ctx.Done():
		}
		p.allRestless()
	}
}

// outlast waits until the faults that have begun are over. One that follows upon a reply
// begins a moment after it.
func (p *provoked) outlast() {
	_ = poll(p.ctx, restLimit, func(context.Context) (bool, error) {
		return !p.awaited(), nil
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
