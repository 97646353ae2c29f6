package check

import (
	"context"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

func (k *checker) client() *host.Client {
	c, _ := k.clientAndEvents()
	return c
}

func (k *checker) clientAndEvents() (*host.Client, chan recipes.Event) {
	k.must(k.Environment.Make(k.ctx, k.path))
	k.must(k.Environment.Make(k.ctx, k.path+"-resource"))
	events := make(chan recipes.Event, 100)
	env := k.Environment.Env(k.numbers, k.path)
	env.Parent, env.Resource, env.Timeout, env.Client = k.path, k.path+"-resource", timeout, k.numbers
	env.Permits, env.Parties = k.groupSize, k.groupSize
	env.Events = func(e recipes.Event) {
		if e.Kind == recipes.EventEnded {
			k.ended.Store(true)
		}
		select {
		case events <- e:
		default:
		}
	}
	k.numbers++
	c, err := k.p.Open(k.ctx, env)
	k.require(err == nil, "open must be answered ok once the client is connected: %v", err)
	k.open = append(k.open, c)
	if env.Seen().Session == 0 {
		later := k.waitUntil(2*time.Second, func() bool { return env.Seen().Session != 0 })
		k.require(!later, "open must be answered once the client is connected, but it was answered before the client had a session")
	}
	k.require(env.Seen().Session != 0, "each client must open its own session through the servers in \"connect\", but no session was seen there: the client shares another client's connection, or connects to other servers")
	return c, events
}

func (k *checker) ask(op string, client int) lines.Reply {
	a, err := k.p.Await(k.p.Send(lines.Request{Op: op, Client: &client}, nil), 10*time.Second)
	k.must(err)
	return a
}

const grantLimit = 10 * time.Second

func (k *checker) acquire(c *host.Client) recipes.Claim { return k.acquireAs(c, "") }

func (k *checker) acquireAs(c *host.Client, mode recipes.Mode) recipes.Claim {
	ctx, cancel := context.WithTimeout(k.ctx, grantLimit)
	defer cancel()
	claim, err := c.AcquireWith(ctx, recipes.AcquireOptions{Mode: mode})
	k.require(err == nil, "nothing blocks the acquire, but it was not granted within %v: %v", grantLimit, err)
	return claim
}

func (k *checker) release(c *host.Client) {
	ctx, cancel := context.WithTimeout(k.ctx, grantLimit)
	defer cancel()
	err := c.Release(ctx)
	k.require(err == nil, "a release that nothing blocks must be answered ok: %v", err)
}

func (k *checker) put(c *host.Client, item, what string) {
	ctx, cancel := context.WithTimeout(k.ctx, grantLimit)
	defer cancel()
	k.require(c.Put(ctx, []byte(item)) == nil, "%s must be answered ok", what)
}

func (k *checker) waitUntil(limit time.Duration, ok func() bool) bool {
	for end := time.Now().Add(limit); ; {
		if ok() {
			return true
		}
		if time.Now().After(end) || k.ctx.Err() != nil {
			return false
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-k.ctx.Done():
		}
	}
}

type attempt struct {
	claim  recipes.Claim
	item   []byte
	err    error
	done   chan struct{}
	giveUp context.CancelFunc
}

func (k *checker) begin(f func(context.Context, *attempt)) *attempt {
	ctx, cancel := context.WithCancel(k.during)
	a := &attempt{done: make(chan struct{}), giveUp: cancel}
	go func() {
		defer close(a.done)
		f(ctx, a)
	}()
	return a
}

// waitingAcquire begins an acquire, which must wait. what describes it.
func (k *checker) waitingAcquire(c *host.Client, mode recipes.Mode, what string) *attempt {
	a := k.begin(func(ctx context.Context, a *attempt) {
		a.claim, a.err = c.AcquireWith(ctx, recipes.AcquireOptions{Mode: mode})
	})
	k.requireWaiting(a, what)
	return a
}

func (k *checker) beginRelease(c *host.Client) *attempt {
	return k.begin(func(ctx context.Context, a *attempt) { a.err = c.Release(ctx) })
}

func (k *checker) beginTake(c *host.Client) *attempt {
	return k.begin(func(ctx context.Context, a *attempt) { a.item, a.err = c.Take(ctx) })
}

func (k *checker) waitingTake(c *host.Client) *attempt {
	a := k.beginTake(c)
	k.requireWaiting(a, "a take from an empty queue")
	return a
}

func (a *attempt) awaitReturn(limit time.Duration) bool {
	select {
	case <-a.done:
		return true
	case <-time.After(limit):
		return false
	}
}

// requireWaiting ends the step if the attempt, which must wait, returns within 300 ms.
func (k *checker) requireWaiting(a *attempt, what string) {
	returned := a.awaitReturn(300 * time.Millisecond)
	if returned && k.ended.Load() {
		panic(envError{fmt.Errorf("%s returned, but a grant had ended without a release, so the lock may have been free", what)})
	}
	k.require(!returned, "%s returned, but it should have waited; its error: %v", what, a.err)
}

// nodes returns the number of the session's nodes below the path of the step.
func (k *checker) nodes(session int64) int {
	n, err := k.Environment.Below(k.ctx, k.path, session)
	k.must(err)
	return n
}
