package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// attempt is an acquire or a take in the background.
type attempt struct {
	c      *client
	giveUp context.CancelFunc
	done   chan struct{}
	claim  recipes.Claim
	err    error
	at     time.Duration // when it was granted or returned
	over   bool          // the client has released or given up
}

func (c *client) begin(ctx context.Context) *attempt {
	a, run := c.attempt(ctx)
	go run()
	return a
}

func (c *client) try(ctx context.Context) *attempt {
	a, run := c.attempt(ctx)
	run()
	return a
}

func (c *client) attempt(ctx context.Context) (a *attempt, run func()) {
	a = &attempt{c: c, done: make(chan struct{})}
	ctx, a.giveUp = context.WithCancel(ctx)
	return a, func() {
		defer close(a.done)
		defer a.giveUp()
		if c.st.queue() {
			_, a.err = c.take(ctx)
		} else {
			a.claim, a.err = c.acquire(ctx)
		}
		a.at = c.st.instant(a.claim.At)
	}
}

func (a *attempt) returned(ctx context.Context, limit time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(limit):
	case <-ctx.Done():
	}
	return false
}

func (a *attempt) ended() bool {
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

func (a *attempt) inDoubt() bool { return a.c.inDoubt(a.claim.Token) }

func (a *attempt) write(ctx context.Context) { a.c.write(ctx, a.claim) }

func (a *attempt) release(ctx context.Context) error {
	a.over = true
	if err := a.c.release(ctx, a.claim); err != nil {
		return fmt.Errorf("client %d: %w", a.c.n, err)
	}
	return nil
}

var errNoGrant = errors.New("nobody was granted")

// first acquires without competition. A client that is not granted in time, because a node was left
// behind, appears in a snapshot while it waits; then it gives up.
func (c *client) first(ctx context.Context) (*attempt, error) {
	limit := c.st.patience()
	a := c.begin(ctx)
	late := !a.returned(context.WithoutCancel(ctx), limit)
	if late {
		_ = c.st.snapshotStuck(ctx)
		c.st.waiting()
		a.giveUp()
		if !a.returned(context.WithoutCancel(ctx), limit) {
			c.close()
			return nil, fmt.Errorf("client %d: %w within %v, though no known client holds the lock", c.n, errNoGrant, limit)
		}
		if a.err != nil {
			a.err = fmt.Errorf("%w within %v, though no known client holds the lock", errNoGrant, limit)
		}
	}
	if a.err != nil {
		return nil, fmt.Errorf("client %d: %w", c.n, a.err)
	}
	return a, nil
}

type line struct {
	st      *stage
	granted chan *attempt // attempts that have returned, in order
	waiting sync.WaitGroup
	giveUp  context.CancelFunc
	calls   context.Context
}

func (st *stage) newLine(ctx context.Context) *line {
	l := &line{st: st, granted: make(chan *attempt, len(st.clients))}
	l.calls, l.giveUp = context.WithCancel(ctx)
	return l
}

func (l *line) leave() {
	l.st.waiting()
	l.giveUp()
	l.waiting.Wait()
}

// join makes all clients but one wait in line behind it. With comeBack, a waiter that loses its
// session joins the line again.
func (l *line) join(first *client, comeBack bool) {
	for _, c := range l.st.clients {
		if c == first {
			continue
		}
		l.waiting.Go(func() {
			a := c.try(l.calls)
			for comeBack && errors.Is(a.err, recipes.ErrSessionEnded) && c.reopen(l.calls) == nil {
				a = c.try(l.calls)
			}
			l.granted <- a
		})
	}
}

func (l *line) next(ctx context.Context) (*attempt, error) {
	limit := l.st.scenario.SessionTimeout + settleLimit
	select {
	case a := <-l.granted:
		if a.err != nil {
			return nil, fmt.Errorf("client %d: %w", a.c.n, a.err)
		}
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(limit):
		_ = l.st.snapshotStuck(ctx)
		return nil, fmt.Errorf("%w within %v of a release", errNoGrant, limit)
	}
}
