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

// episodeRun is a running script. Its methods are the steps of scripts; must ends a script when a
// step fails.
type episodeRun struct {
	st    *stage
	ctx   context.Context
	calls context.Context
	stop  context.CancelFunc // cancels every acquire in progress

	strikes []*stepInjection // faults that wait for their step, in an episode
	course  episodeLog

	mu    sync.Mutex
	begun []*attempt // by all clients
}

// Limits of a script, far above the needs of a sound recipe.
const (
	provokeLimit = 40 * time.Second       // for the whole script; a member that was killed must be back
	grantLimit   = 10 * time.Second       // for a grant that is not blocked
	stillLimit   = time.Second            // for a line without activity
	writeEvery   = 100 * time.Millisecond // interval of writes by a holder
)

func newProvoked(ctx context.Context, st *stage) *episodeRun {
	p := &episodeRun{st: st, ctx: ctx}
	p.calls, p.stop = context.WithCancel(ctx)
	return p
}

type scriptError struct{ error }

// must ends the script if err is not nil. It must be called by the script's own goroutine.
func (p *episodeRun) must(err error) {
	if err != nil {
		panic(scriptError{err})
	}
}

// play runs a script, and returns the error that ended it.
func (p *episodeRun) play(script func(*episodeRun)) (err error) {
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

func (p *episodeRun) callOff() {
	p.st.waiting()
	p.stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range p.begun {
		<-a.done
	}
}

// begin lets client i acquire in the background.
func (p *episodeRun) begin(i int) *attempt {
	a := p.st.clients[i].begin(p.calls)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begun = append(p.begun, a)
	return a
}

// last returns the client's last attempt, or nil.
func (p *episodeRun) last(i int) *attempt {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, a := range slices.Backward(p.begun) {
		if a.c.n == i {
			return a
		}
	}
	return nil
}

// first lets client i acquire, which must succeed, and write as the holder.
func (p *episodeRun) first(i int) *attempt {
	a := p.begin(i)
	if !a.returned(p.ctx, grantLimit) {
		p.must(fmt.Errorf("client %d did not acquire the free lock within %v", i, grantLimit))
	}
	if a.err != nil {
		p.must(fmt.Errorf("client %d did not acquire the free lock: %w", i, a.err))
	}
	p.act(a)
	return a
}

// act is the work of a holder: it writes to the resource, and the harness checks its node. A holder
// that was notified of the loss of its grant does nothing.
func (p *episodeRun) act(a *attempt) {
	if a.c.lost(a.claim.Token) {
		return
	}
	a.write(p.ctx)
	a.c.check(p.ctx, a.claim)
}

// releaseTries is the number of times that a holder tries to release, in 300 ms: go-zookeeper fails
// requests while it detects that its connection is closed, which may happen twice.
const releaseTries = 6

// letGo releases, and retries after an error, as applications do. A node that is left behind
// appears in the snapshot.
func (p *episodeRun) letGo(a *attempt) {
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

// inLine waits until n nodes are in line and all clients are idle. If they do not become idle it
// gives up without an error. It does nothing for a recipe whose waiters have no nodes.
func (p *episodeRun) inLine(n int) {
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

// believe lets a holder act for as long as it believes, within a limit.
func (p *episodeRun) believe(a *attempt, limit time.Duration) {
	until := time.Now().Add(limit)
	for !a.inDoubt() && time.Now().Before(until) && p.ctx.Err() == nil {
		a.write(p.ctx)
		_ = pause(p.ctx, writeEvery)
	}
}
