package stage

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// CatchPanic turns a panic of f into an error, so that the run heals faults and keeps its results.
func CatchPanic(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = PanicError{p, debug.Stack()}
		}
	}()
	return f()
}

// PanicError is the panic of a subject, which ends the trial as unknown.
type PanicError struct {
	value any
	stack []byte
}

func (e PanicError) Error() string { return fmt.Sprintf("panic: %v\n%s", e.value, e.stack) }

// Is reports whether target is recipes.ErrUnfinished: the outcome of an operation that panicked is unknown.
func (e PanicError) Is(target error) bool { return target == recipes.ErrUnfinished }

// Attempt is one acquire of a client, or one take from a queue, and its result.
type Attempt struct {
	Client     *Client
	Cancel     context.CancelFunc
	Done       chan struct{}
	Claim      recipes.Claim
	Err        error
	ReturnedAt time.Duration // when it was granted or returned
	Finished   bool          // the client has released or given up
	canceled   bool          // zkbench canceled the call before it returned
}

// StartAttempt begins an attempt, which continues in another goroutine.
func (c *Client) StartAttempt(ctx context.Context) *Attempt {
	a := &Attempt{Client: c, Done: make(chan struct{})}
	ctx, a.Cancel = context.WithCancel(ctx)
	go func() {
		defer close(a.Done)
		defer a.Cancel()
		if c.Stage.IsQueue() {
			_, a.Err = c.take(ctx)
		} else {
			a.Claim, a.Err = c.Acquire(ctx)
		}
		a.ReturnedAt, a.canceled = c.Stage.Instant(a.Claim.At), ctx.Err() != nil
	}()
	return a
}

// CancelAttempts cancels the attempts, and waits until they have returned.
func (st *Stage) CancelAttempts(cancel context.CancelFunc, attempts []*Attempt) {
	st.RecordPending()
	cancel()
	for _, a := range attempts {
		<-a.Done
	}
}

// AwaitReturn waits up to limit for the attempt to return, and reports whether it did.
func (a *Attempt) AwaitReturn(ctx context.Context, limit time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	return Await(ctx, a.Done) == nil
}

func (a *Attempt) HasReturned() bool { return Closed(a.Done) }

// GaveUp reports whether the attempt has certainly ended without a grant because of its time limit or because zkbench
// canceled it.
func (a *Attempt) GaveUp() bool {
	return a.HasReturned() && (errors.Is(a.Err, recipes.ErrNotAcquired) || a.canceled && !recipes.Indeterminate(a.Err))
}

// InDoubt reports whether the client was notified that its grant is suspended or lost.
func (a *Attempt) InDoubt() bool { return a.Client.inDoubt(a.Claim.Token) }

// Write writes to the fenced resource with the attempt's token, unless others may hold too, and records the result.
func (a *Attempt) Write(ctx context.Context) { a.Client.write(ctx, a.Claim) }

// Release releases the attempt's claim. The attempt counts as finished even if the release fails.
func (a *Attempt) Release(ctx context.Context) error {
	a.Finished = true
	if err := a.Client.Release(ctx, a.Claim); err != nil {
		return fmt.Errorf("client %d: %w", a.Client.Number, err)
	}
	return nil
}

// ErrNoGrant means that an acquire did not return although no known client holds.
var ErrNoGrant = errors.New("no grant")

// AcquireUncontended acquires without competition. If the client is not granted in time, because a node was left behind,
// AcquireUncontended takes a snapshot while the client waits, and then cancels the acquire.
func (c *Client) AcquireUncontended(ctx context.Context) (*Attempt, error) {
	limit := c.Stage.GrantTimeout()
	a := c.StartAttempt(ctx)
	if !a.AwaitReturn(context.WithoutCancel(ctx), limit) {
		_ = c.Stage.SnapshotStuck(ctx)
		c.Stage.RecordPending()
		a.Cancel()
		if !a.AwaitReturn(context.WithoutCancel(ctx), limit) {
			c.Close()
			return nil, fmt.Errorf("client %d: %w within %v, though no known client holds the lock", c.Number, ErrNoGrant, limit)
		}
		if a.Err != nil {
			a.Err = fmt.Errorf("%w within %v, though no known client holds the lock", ErrNoGrant, limit)
		}
	}
	if a.Err != nil {
		return nil, fmt.Errorf("client %d: %w", c.Number, a.Err)
	}
	return a, nil
}

// WaiterGroup is a group of clients that wait behind a holder.
type WaiterGroup struct {
	st      *Stage
	Granted chan *Attempt // attempts that have returned, in order
	waiting sync.WaitGroup
	cancel  context.CancelFunc
	ctx     context.Context
}

// NewWaiterGroup returns a group without waiters. CancelAndWait must be called.
func NewWaiterGroup(ctx context.Context, st *Stage) *WaiterGroup {
	l := &WaiterGroup{st: st, Granted: make(chan *Attempt, len(st.Clients))}
	l.ctx, l.cancel = context.WithCancel(ctx)
	return l
}

func (l *WaiterGroup) CancelAndWait() {
	l.st.RecordPending()
	l.cancel()
	l.waiting.Wait()
}

// StartOthers makes all clients except first wait in line behind it. With rejoin, a waiter that loses its session
// joins the line again.
func (l *WaiterGroup) StartOthers(first *Client, rejoin bool) {
	for _, c := range l.st.Clients {
		if c == first {
			continue
		}
		l.waiting.Go(func() {
			a := c.StartAttempt(l.ctx)
			<-a.Done
			for rejoin && l.ctx.Err() == nil && errors.Is(a.Err, recipes.ErrSessionEnded) && c.Reopen(l.ctx) == nil {
				a = c.StartAttempt(l.ctx)
				<-a.Done
			}
			l.Granted <- a
		})
	}
}

// Next waits for the next attempt to return. It returns the attempt, or its error.
func (l *WaiterGroup) Next(ctx context.Context) (*Attempt, error) {
	limit := l.st.Scenario.SessionTimeout + QuietLimit
	select {
	case a := <-l.Granted:
		if a.Err != nil {
			return nil, fmt.Errorf("client %d: %w", a.Client.Number, a.Err)
		}
		return a, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(limit):
		_ = l.st.SnapshotStuck(ctx)
		return nil, fmt.Errorf("%w within %v of a release", ErrNoGrant, limit)
	}
}
