package driver

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

type client struct {
	recipes.Client
	resource string
	mu       sync.Mutex
	pending  *operation // the pending operation, or nil
}

type operation struct {
	request lines.Request
	cancel  context.CancelCauseFunc
	answer  sync.Once
	done    chan struct{} // closed when the operation is answered
}

func acquire(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error) {
	acquire := c.Client.(recipes.Contender).Acquire
	if q.Mode != "" {
		acquire = func(ctx context.Context) (recipes.Claim, error) {
			return c.Client.(recipes.OptionContender).AcquireWith(ctx, recipes.AcquireOptions{Mode: recipes.Mode(q.Mode)})
		}
	}
	claim, err := acquire(ctx)
	ok := lines.OK{Node: claim.Path}
	if claim.Session != 0 {
		ok.Session = (*lines.Int64)(&claim.Session)
	}
	if claim.Token != 0 {
		ok.Token = (*lines.Int64)(&claim.Token)
	}
	return ok, claim.At, err
}

func release(ctx context.Context, c *client, _ lines.Request) (lines.OK, time.Time, error) {
	return lines.OK{}, time.Time{}, c.Client.(recipes.Contender).Release(ctx)
}

var operations = map[string]func(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error){
	"acquire": acquire, "release": release,
	"enter": acquire, "leave": release,
	"put": func(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error) {
		return lines.OK{}, time.Time{}, c.Client.(recipes.QueueClient).Put(ctx, []byte(q.Item))
	},
	"take": func(ctx context.Context, c *client, _ lines.Request) (lines.OK, time.Time, error) {
		item, err := c.Client.(recipes.QueueClient).Take(ctx)
		return lines.OK{Item: new(string(item))}, time.Time{}, err
	},
	"write": func(ctx context.Context, c *client, q lines.Request) (lines.OK, time.Time, error) {
		return lines.OK{}, time.Time{}, c.Client.(recipes.Worker).Write(ctx, c.resource, q.Value)
	},
}

var errCancelled = errors.New("cancelled on request")

func (d *server) begin(q lines.Request, c *client) {
	ctx, cancel := context.WithCancelCause(d.ctx)
	o := &operation{request: q, cancel: cancel, done: make(chan struct{})}
	c.mu.Lock()
	busy := c.pending != nil
	if !busy {
		c.pending = o
	}
	c.mu.Unlock()
	if busy {
		cancel(nil)
		d.refuse(q, lines.Failed, "another operation of client %d is pending", *q.Client)
		return
	}
	d.working.Go(func() {
		defer cancel(nil)
		called := time.Now()
		ok, at, err := operations[q.Op](ctx, c, q)
		if at.IsZero() {
			at = time.Now()
		}
		o.answer.Do(func() {
			c.setIdle()
			defer close(o.done)
			ok.Times = lines.Times{Called: instant(called), At: instant(at)}
			if err != nil {
				d.fail(q, lines.Error{Times: ok.Times, Kind: kindOf(err), Text: err.Error()})
				return
			}
			d.ok(q, ok)
		})
	})
}

func kindOf(err error) string {
	switch {
	case recipes.Indeterminate(err):
		return lines.Unknown
	case errors.Is(err, recipes.ErrSessionEnded), errors.Is(err, recipes.ErrGrantLost):
		return lines.Lost
	case errors.Is(err, errCancelled), errors.Is(err, context.Canceled):
		return lines.Cancelled
	}
	return lines.Failed
}

// setIdle marks the client as idle, before the reply is written: the next request may follow at once.
func (c *client) setIdle() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = nil
}

func (c *client) cancelPending() *operation {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending != nil {
		c.pending.cancel(errCancelled)
	}
	return c.pending
}

// giveUpLimit bounds the time that a recipe needs to give up before its client is closed.
const giveUpLimit = 5 * time.Second

// close ends a client's session, after its pending operation has been cancelled.
func (d *server) close(q lines.Request, n int, c *client) {
	d.mu.Lock()
	delete(d.clients, n)
	d.mu.Unlock()
	o := c.cancelPending()
	if o != nil && slices.Contains(d.ops, "cancel") {
		o.await(giveUpLimit)
	}
	ctx, cancel := context.WithTimeout(context.Background(), giveUpLimit)
	defer cancel()
	_ = c.Close(ctx) // after an error the session expires
	if o != nil && !o.await(time.Second) {
		o.answer.Do(func() {
			c.setIdle()
			defer close(o.done)
			d.refuse(o.request, lines.Cancelled, "the client was closed")
		})
	}
	if q.ID != 0 {
		d.ok(q, lines.OK{})
	}
}

func (o *operation) await(limit time.Duration) bool {
	select {
	case <-o.done:
		return true
	case <-time.After(limit):
		return false
	}
}

func (d *server) closeAll() {
	d.mu.Lock()
	open := maps.Clone(d.clients)
	d.mu.Unlock()
	for n, c := range open {
		d.working.Go(func() { d.close(lines.Request{}, n, c) })
	}
	d.working.Wait()
}
