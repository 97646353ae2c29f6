package scenarios

import (
	"context"
	"slices"
	"sync"
	"time"
)

// episodeLog is the log of an episode.
type episodeLog struct {
	mu       sync.Mutex
	made     map[int][]seenStep
	released int64
	acting   map[int]time.Duration // by client: when the grant began that it is releasing or that a fault hit
}

// begins records that client n, granted at that time, releases, or is hit by a fault while it
// holds.
func (c *episodeLog) begins(n int, granted time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.acting == nil {
		c.acting = map[int]time.Duration{}
	}
	c.acting[n] = granted
}

func (c *episodeLog) ends(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.acting, n)
}

// before returns the clients that were granted earlier and have not ended their grant.
func (c *episodeLog) before(granted time.Duration) (clients []int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for n, at := range c.acting {
		if at < granted {
			clients = append(clients, n)
		}
	}
	return clients
}

func (c *episodeLog) called(n int, call string, at time.Duration) (nth int) {
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

func (c *episodeLog) letGo() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.released++
}

// passable reports whether the first holder can release after x was injected: it is another client,
// and no other fault is injected.
func (p *episodeRun) passable(x *stepInjection) bool {
	p.course.mu.Lock()
	defer p.course.mu.Unlock()
	return !p.st.queue() && x.c.n > 0 && p.course.released == 0 && len(p.strikes) == 1
}

// late reports whether an active fault delays client i.
func (p *episodeRun) late(i int) bool {
	return slices.ContainsFunc(p.strikes, func(x *stepInjection) bool { return x.c.n == i && x.fault.late && x.lasts() })
}

// episode lets every client wait and hold once, or a producer put and the others take, while the
// faults are injected at their steps. It returns when the faults are over.
func (p *episodeRun) episode(aims []aim) {
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
				a.returned(p.ctx, p.turnLimit())
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
	cancel()
}

// rounds returns how many turns each client has at most: more than one if a fault is aimed at a
// step that one turn does not reach.
func (p *episodeRun) rounds() (n int) {
	n = 1
	for _, x := range p.strikes {
		if x.at.nth > mostOf {
			n = max(n, x.at.nth)
		}
	}
	return n
}

func (p *episodeRun) awaited() bool {
	return slices.ContainsFunc(p.strikes, func(x *stepInjection) bool { return !x.begun.Load() })
}

// waits is the time during which all clients but the first wait, without a release or put. A fault
// may hit a waiter once all wait; a client that joined later would see only the effect of the
// fault. After the fault the others have time to make a mistake.
func (p *episodeRun) waits() {
	if slices.ContainsFunc(p.strikes, func(x *stepInjection) bool { return x.at.kind() == atWait }) {
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

// outlast waits until the faults that have begun are over. A fault that follows a reply begins a
// moment after it.
func (p *episodeRun) outlast() {
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
