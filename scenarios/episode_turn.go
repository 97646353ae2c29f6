package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

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
		p.course.begins(a.c.n, a.at)
		select {
		case <-x.over:
		case <-ctx.Done():
			return false, ctx.Err()
		}
		p.challenged(ctx, a, session)
	} else if err := pause(ctx, p.st.phase.Hold); err != nil {
		return false, err
	}
	p.outlive(ctx, a)
	err = poll(ctx, p.turnLimit(), func(context.Context) (bool, error) {
		return !a.inDoubt() || a.c.lost(a.claim.Token), nil
	})
	if err != nil {
		return false, fmt.Errorf("client %d is in doubt about its grant, and stays so: %w", a.c.n, err)
	}
	return !a.inDoubt(), nil
}

// outlive has a holder stay until whoever held before is through with letting go: whose
// session has run out meanwhile may take away what is not its own any more. Where a fault had
// met it, the next have the time to be let in by that.
func (p *provoked) outlive(ctx context.Context, a *attempt) {
	before := p.course.before(a.at)
	_ = poll(ctx, p.turnLimit()-time.Second, func(context.Context) (bool, error) { return len(p.course.before(a.at)) == 0, nil })
	if slices.ContainsFunc(p.strikes, func(x *strike) bool { return x.begun.Load() && slices.Contains(before, x.c.n) }) {
		_ = pause(ctx, believeFor)
	}
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
			p.course.ends(i)
			return false // it steps back and does not come back: nothing for it to let go
		}
		if sure {
			p.letGo(a)
			return true
		}
		a.over, a.err = true, recipes.ErrSessionEnded // it begins anew
		p.course.ends(i)
		a.c.mend(ctx, a.err)
	}
	return false
}
