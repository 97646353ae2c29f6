package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/units"
)

// provoked is a provocation under way. Its methods are the steps of the scripts: what
// makes the rest of a script meaningless ends it, by must.
type provoked struct {
	st    *stage
	ctx   context.Context    // of the provocation
	calls context.Context    // that the acquires run under
	stop  context.CancelFunc // calls off every acquire that is under way

	strikes []*strike // faults that wait for their step, in an episode
	course  course

	mu    sync.Mutex
	begun []*attempt // by all clients
}

// Limits of a provocation. All are far above what a sound recipe needs.
const (
	provokeLimit = 40 * time.Second       // the whole of it; a member that was killed must be back
	grantLimit   = 10 * time.Second       // for a grant that nothing stands in the way of
	stillLimit   = time.Second            // for a line in which nothing moves any more
	writeEvery   = 100 * time.Millisecond // by a holder that goes on holding
)

func newProvoked(ctx context.Context, st *stage) *provoked {
	p := &provoked{st: st, ctx: ctx}
	p.calls, p.stop = context.WithCancel(ctx)
	return p
}

// scriptError is what must panics with.
type scriptError struct{ error }

// must ends the script if there is an error. It must not be called by other goroutines.
func (p *provoked) must(err error) {
	if err != nil {
		panic(scriptError{err})
	}
}

// play runs a script, and returns the error that has ended it.
func (p *provoked) play(script func(*provoked)) (err error) {
	defer func() {
		switch why := recover().(type) {
		case nil:
		case scriptError:
			err = why.error
		default:
			panic(why)
		}
	}()
	script(p)
	return nil
}

// callOff ends every acquire that is under way.
func (p *provoked) callOff() {
	p.st.waiting()
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.begun {
		<-a.done
	}
}

// begin has client i acquire in the background.
func (p *provoked) begin(i int) *attempt {
	a := p.st.clients[i].begin(p.calls)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = append(p.begun, a)
	return a
}

// last is the client's last attempt; nil before the first.
func (p *provoked) last(i int) *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range slices.Backward(p.begun) {
		if a.c.n == i {
			return a
		}
	}
	return nil
}

// first has client i acquire, and write as its holder; it must be granted.
func (p *provoked) first(i int) *attempt {
	a := p.begin(i)
	if !a.returned(p.ctx, grantLimit) {
		p.must(fmt.Errorf("client %d was not granted what nobody held within %v", i, grantLimit))
	}
	if a.err != nil {
		p.must(fmt.Errorf("client %d was not granted what nobody held: %w", i, a.err))
	}
	p.act(a)
	return a
}

// act is what a holder does: it writes to the resource, and its node is checked.
func (p *provoked) act(a *attempt) {
	a.write(p.ctx)
	a.c.check(p.ctx, a.claim)
}

// releaseTries is how often a holder tries to let go, 300 ms in all: go-zookeeper fails what it
// is given while it learns that its connection is gone, and that may be the second try, too.
const releaseTries = 6

// letGo releases, and again where that has failed: whoever is told that a release failed has
// a right to try again. What is left behind then is in the snapshot.
func (p *provoked) letGo(a *attempt) {
	p.course.begins(a.c.n, a.at)
	defer p.course.ends(a.c.n)
	defer p.course.letGo()
	defer a.c.moves.Add(1)
	for try := range releaseTries {
		err := a.release(p.ctx)
		if err == nil || errors.Is(err, recipes.ErrGrantLost) || errors.Is(err, recipes.ErrSessionEnded) {
			return
		}
		_ = pause(p.ctx, 10*time.Millisecond<<try)
	}
}

// inLine waits until n nodes stand in line, and then until nothing moves any more.
// A line that does not come to rest is left as it is. It does not apply to a recipe whose waiters
// have no nodes.
func (p *provoked) inLine(n int) {
	err := p.st.inLine(p.ctx, n, grantLimit)
	if err == nil || errors.Is(err, errPollLimit) {
		nodes, look := p.st.observer.inLine(p.ctx, p.st.parent)
		if waiting := p.st.acquiring(); look == nil && nodes <= 1 && waiting >= n-1 {
			err = fmt.Errorf("%w: %d clients wait and the line has %s: the recipe has no queue of waiters", errInapplicable, waiting, units.Plural(nodes, "node"))
		}
	}
	p.must(err)
	_ = p.st.still(p.ctx, stillLimit)
	p.must(context.Cause(p.ctx))
}

// believe has a holder act for as long as it believes, at most for a while.
func (p *provoked) believe(a *attempt, limit time.Duration) {
	until := time.Now().Add(limit)
	for !a.inDoubt() && time.Now().Before(until) && p.ctx.Err() == nil {
		a.write(p.ctx)
		_ = pause(p.ctx, writeEvery)
	}
}
