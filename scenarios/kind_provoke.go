package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

func init() {
	addKind(kind{
		name:     "provoke",
		about:    "one subject is provoked on purpose, in a zoo",
		pace:     history.ByHarness,
		validate: func(*Phase, problemFunc) {}, // a provocation decides itself what happens and for how long
		effort:   func(*Phase, int) time.Duration { return 0 },
		run:      provoke,
	})
}

// provocation is something that is done to a subject on purpose, because a known
// mistake shows then.
type provocation struct {
	name    string
	clients int
	queue   bool // for queues; else for locks and elections
	run     func(p *provoked)
}

// Limits of a provocation. All are far above what a sound recipe needs.
const (
	provokeLimit = 18 * time.Second       // the whole of it
	grantLimit   = 4 * time.Second        // for a grant that nothing stands in the way of
	stillLimit   = time.Second            // for a line in which nothing moves any more
	writeEvery   = 100 * time.Millisecond // by a holder that goes on holding
)

// provoke plays the provocation, lets everybody have a turn, and records what is left.
func provoke(ctx context.Context, st *stage) error {
	what, _ := findProvocation(st.cell.Provocation)
	ctx, cancel := context.WithTimeoutCause(ctx, provokeLimit, errors.New("the provocation took too long"))
	defer cancel()
	p := newProvoked(ctx, st)
	defer p.callOff()
	st.report("%s", what.name)
	err := p.play(what.run)
	if err != nil {
		return fmt.Errorf("provocation %s: %w", what.name, err)
	}
	if what.queue {
		return nil
	}
	if stuck := p.everybody(); stuck {
		if err := st.snapshot(ctx, stuckFor); err != nil {
			return err
		}
	}
	p.callOff()
	return st.snapshotIdle(ctx)
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
		case <-time.After(grantLimit):
			return true
		case <-ctx.Done():
			return true
		}
	}
	return false
}

// oneTurn sees client i through one turn. It returns false if that came to no end.
func (p *provoked) oneTurn(ctx context.Context, i int) bool {
	a := p.last(i)
	for tries := 0; tries < 3; tries++ {
		if a == nil || a.over || a.ended() && a.err != nil {
			if a != nil && errors.Is(a.err, recipes.ErrSessionEnded) {
				if err := p.st.clients[i].reopen(ctx); err != nil {
					return false
				}
			}
			a = p.begin(i)
		}
		select {
		case <-a.done:
		case <-ctx.Done():
			return false
		}
		if a.err != nil {
			continue
		}
		if a.inDoubt() {
			return false // it steps back and does not come back: nothing for it to let go
		}
		p.act(a)
		p.letGo(a)
		return true
	}
	return true // it gave up, and stands in nobody's way unless it left something
}
