package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// turnLimit is the time for which a line may be without a grant before it counts as stuck.
func (p *episodeRun) turnLimit() time.Duration { return p.st.scenario.SessionTimeout + 3*time.Second }

// How long a holder continues to act after a fault hit it: normally, and if its session has ended,
// of which it should be notified within a second.
const (
	believeFor     = 400 * time.Millisecond
	believeLostFor = 1500 * time.Millisecond
)

// holds is the time during which client i holds: it acts, and a fault may be injected. It returns
// true if the client may release, false if it was notified that its grant is lost.
func (p *episodeRun) holds(ctx context.Context, a *attempt) (sure bool, err error) {
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

func (p *episodeRun) outlive(ctx context.Context, a *attempt) {
	before := p.course.before(a.at)
	_ = poll(ctx, p.turnLimit()-time.Second, func(context.Context) (bool, error) { return len(p.course.before(a.at)) == 0, nil })
	if slices.ContainsFunc(p.strikes, func(x *stepInjection) bool { return x.begun.Load() && slices.Contains(before, x.c.n) }) {
		_ = pause(ctx, believeFor)
	}
}

// challenged lets a holder that a fault hit act for as long as it believes, once it is connected
// again, while another client tries to acquire. session is its session before the fault.
func (p *episodeRun) challenged(ctx context.Context, a *attempt, session int64) {
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

func (p *episodeRun) ready(ctx context.Context, i int) bool {
	c := p.st.clients[i]
	return c.opened() || c.reopen(ctx) == nil
}

// everybody lets every client complete a turn: waiters are granted, the others join first. It
// returns true if no client made progress.
func (p *episodeRun) everybody() (stuck bool) {
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

// oneTurn runs one turn of client i and reports whether it ended.
func (p *episodeRun) oneTurn(ctx context.Context, i int) bool {
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
			a.c.recoverAfter(ctx, a.err)
			continue
		}
		sure, err := p.holds(ctx, a)
		if err != nil {
			p.course.ends(i)
			return false
		}
		if sure {
			p.letGo(a)
			return true
		}
		a.over, a.err = true, recipes.ErrSessionEnded
		p.course.ends(i)
		a.c.recoverAfter(ctx, a.err)
	}
	return false
}
