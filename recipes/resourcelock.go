package recipes

import (
	"context"
	"fmt"
	"sync"
)

func init() {
	Register(Subject{
		Name: "lock/resource", Recipe: RecipeLock, Variant: Predecessor,
		About:    "built-in, after a tutorial's ResourceLock: a GUID in the name; lists the children at every notification; waits for its predecessor. Exclusive while sessions are alive; fenced by czxid; fifo",
		Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Writes: true, ReportsHeld: true,
		Formulas: relisting,
		Open: func(ctx context.Context, env Env) (Client, error) {
			l := NewResourceLock(env.open, env.Parent)
			s, err := l.session(ctx) // a client has its session from the start
			return &contender{s: s, acquire: l.Acquire, events: env.event}, err
		},
	})
}

const (
	resourceNode   = "resource_lock_node" // before the GUID
	resourcePrefix = "_"                  // between the GUID and the sequence number
)

// ResourceLock is the reusable lock of a tutorial, with its steps:
//
//  1. Create a node that is sequential, ephemeral, and has a GUID in its name.
//  2. List the nodes, without a watch.
//  3. The lowest number has the lock.
//  4. All others check whether the node with the next lower number exists, with a watch.
//  5. If not, go to step 2; otherwise wait for its deletion first.
//
// Release deletes the node, and Destroy ends the session, which the first Acquire has opened.
// Deviations:
//
//   - The tutorial takes the node with its own number minus one for its predecessor. That node does not
//     exist once a waiter in the middle has left (zoo/predecessor-minus-one-guid).
//   - The tutorial does not use the GUID when the reply to the create is lost. Here the node is found
//     again, and adopted only if it belongs to this session.
//   - "_" separates GUID and number: both may be digits.
//   - An Acquire that is cancelled or fails leaves no node.
type ResourceLock struct {
	open   func(context.Context) (*Session, error)
	parent string

	mu sync.Mutex
	s  *Session // nil before the first Acquire, and after Destroy
	// OnRelease, if not nil, is called when a waiter is notified that the node ahead was deleted. It returns at once.
	OnRelease func()
}

// NewResourceLock returns the lock at parent, whose session is opened by open.
func NewResourceLock(open func(context.Context) (*Session, error), parent string) *ResourceLock {
	return &ResourceLock{open: open, parent: parent}
}

func (l *ResourceLock) session(ctx context.Context) (*Session, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.s != nil {
		return l.s, nil
	}
	s, err := l.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.parent, err)
	}
	l.s = s
	return s, nil
}

// Acquire waits until the lock is held. The grant's Release releases it.
func (l *ResourceLock) Acquire(ctx context.Context) (*Grant, error) {
	s, err := l.session(ctx)
	if err != nil {
		return nil, err
	}
	c := contest{s: s, parent: l.parent, prefix: resourcePrefix, start: resourceNode}
	c.wait = func(ctx context.Context, node string, _ reply) error { return l.await(ctx, c, node) }
	return c.acquire(ctx)
}

func (l *ResourceLock) await(ctx context.Context, c contest, node string) error {
	for {
		listed, err := c.list(ctx, false)
		if err != nil {
			return err
		}
		n, next, err := c.ahead(node, listed.names)
		if n == 0 || err != nil {
			return err
		}
		got, err := c.s.exists(ctx, c.parent+"/"+next, true)
		if err != nil {
			return err
		}
		if got.stat != nil {
			if _, err := c.s.wake(ctx, got.watch); err != nil {
				return err
			}
		}
		if l.OnRelease != nil {
			l.OnRelease()
		}
	}
}

// Destroy ends the session, if there is one. The next Acquire opens another.
func (l *ResourceLock) Destroy() error {
	l.mu.Lock()
	s := l.s
	l.s = nil
	l.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.Close()
}
