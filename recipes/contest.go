package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// contest is the mechanism of lock and election: every contender creates an ephemeral sequential
// node, the one with the lowest number holds the grant, and all others wait. (ZooKeeper recipes,
// "Locks" and "Leader Election": "their mechanism is the same", seed 003.)
type contest struct {
	s       *Session
	parent  string
	prefix  string // "-lock-": part of node names between ID and sequence
	variant Variant
	data    []byte // data that observers see of this contender; may be empty

	plain bool // without the mark of the last holder: a notified waiter lists (mark.go)

	newID func() string // returns the beginning of node names; nil: client.NewID
	// wait returns when it is the node's turn; nil: as the variant defines.
	wait func(ctx context.Context, node string, names []string) error
}

// errVanished means that our node was deleted while its session lives, by an operator or with its
// parent. The contender must join the line again.
var errVanished = errors.New("our node was deleted, but our session is alive")

// win joins the line, waits, and returns the grant. On an error, including cancellation, it leaves
// no node in a live session.
func (c contest) win(ctx context.Context) (*Grant, error) {
	for {
		g, err := c.try(ctx, true)
		if !errors.Is(err, errVanished) {
			return g, err
		}
	}
}

// try joins the line once. Without wait it gives up with ErrNotAcquired if another contender is
// ahead.
func (c contest) try(ctx context.Context, wait bool) (g *Grant, err error) {
	newID := c.newID
	if newID == nil {
		newID = client.NewID
	}
	at, names, err := enter(ctx, c.s, c.parent, newID(), c.prefix, c.data)
	if err != nil {
		return nil, err
	}
	defer func() { // a panic must not leave a node either
		if g == nil {
			c.s.cleanUp(ctx, func(ctx context.Context) error { return c.s.remove(ctx, at.node) })
		}
	}()
	return c.stand(ctx, at, names, wait)
}

// stand waits with a node until it is first. names are the names listed when it was created, if
// known.
func (c contest) stand(ctx context.Context, at spot, names []string, wait bool) (_ *Grant, err error) {
	for ; ; names = nil {
		if names == nil {
			if names, err = c.list(ctx); err != nil {
				return nil, err
			}
		}
		turn, err := c.turn(at.node, names)
		if err != nil {
			return nil, err
		}
		if !turn && !wait {
			return nil, ErrNotAcquired
		}
		if !turn {
			if err := c.await(ctx, at.node, names); err != nil {
				return nil, err
			}
			if err := c.confirm(ctx, at.node); err != nil {
				return nil, err
			}
		}
		if g, standing := newGrant(c.s, at.node, at.czxid); standing {
			if c.marks() {
				g.markAt = c.parent
			}
			return g, nil
		}
		// Disconnected since the last reply: list again after reconnecting.
		if err := c.s.AwaitConnected(ctx); err != nil {
			return nil, err
		}
	}
}

// confirm checks a session that waited for so long that it may have expired: by a write that
// changes nothing, and a read of our node. It is still our turn: no contender can have come in
// ahead.
func (c contest) confirm(ctx context.Context, node string) error {
	if c.s.confirmed() {
		return nil
	}
	if err := c.s.barrier(ctx, node+"-barrier"); err != nil {
		return err
	}
	stat, err := c.s.Exists(ctx, node)
	if err == nil && stat == nil {
		err = errVanished
	}
	return err
}

// turn reports whether it is our turn. names is a fresh list of the parent.
func (c contest) turn(node string, names []string) (bool, error) {
	n, _, found := ahead(names, c.prefix, client.Base(node))
	if !found {
		return false, errVanished
	}
	return n == 0, nil
}

func (c contest) list(ctx context.Context) ([]string, error) {
	names, err := c.s.List(ctx, c.parent)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errVanished
	}
	return names, err
}

// await returns when it is our turn. names is the list that showed that it was not.
func (c contest) await(ctx context.Context, node string, names []string) error {
	switch {
	case c.wait != nil:
		return c.wait(ctx, node, names)
	case c.variant == Parent:
		return c.awaitParent(ctx, node)
	}
	return c.awaitPredecessor(ctx, node, names)
}

// awaitParent watches the parent's children: every change notifies every waiter, and each lists and
// watches again. This is the herd effect, kept on purpose.
func (c contest) awaitParent(ctx context.Context, node string) error {
	for {
		got, err := c.s.list(ctx, c.parent, true)
		if errors.Is(err, zk.ErrNoNode) {
			return errVanished
		}
		if err != nil {
			return err
		}
		turn, err := c.turn(node, got.names)
		if turn || err != nil {
			return err
		}
		if _, err := c.s.wake(ctx, got.watch); err != nil {
			return err
		}
	}
}

// awaitPredecessor watches only the node directly before its own: its deletion notifies only this client.
func (c contest) awaitPredecessor(ctx context.Context, node string, names []string) (err error) {
	for ; ; names = nil {
		if names == nil {
			if names, err = c.list(ctx); err != nil {
				return err
			}
		}
		n, next, found := ahead(names, c.prefix, client.Base(node))
		switch {
		case !found:
			return errVanished
		case n == 0:
			return nil
		}
		// Not exists: on a missing node it would leave a watch for a creation that never comes, at
		// the servers until the session ends.
		got, err := c.s.get(ctx, c.parent+"/"+next, true)
		if errors.Is(err, zk.ErrNoNode) {
			continue // deleted between list and get: there will be no notification
		}
		if err != nil {
			return err
		}
		event, err := c.s.wake(ctx, got.watch)
		if err != nil {
			return err
		}
		if event.Type != zk.EventNodeDeleted {
			continue
		}
		// It is deleted. If it was the only one ahead of us, or had none ahead of itself, none is
		// ahead now, since numbers only grow: no need to list again.
		if n == 1 {
			return nil
		}
		if turn, err := c.releasedByHolder(ctx, next); turn || err != nil {
			return err
		}
	}
}

// wake returns when the watch fires, or when the connection was lost and is back: go-zookeeper sets
// watches again after a reconnect but only logs a failure, so a waiter that relied on it could wait
// forever. The event is then zero.
func (s *Session) wake(ctx context.Context, watch <-chan zk.Event) (zk.Event, error) {
	state, changed := s.now()
	for {
		select {
		case e := <-watch:
			if e.Type == zk.EventNotWatching {
				e = zk.Event{}
			}
			return e, s.Err()
		case <-ctx.Done():
			return zk.Event{}, ctx.Err()
		case <-changed:
		}
		was := state
		state, changed = s.now()
		if state == ended {
			return zk.Event{}, s.Err()
		}
		if state == connected && was != connected {
			return zk.Event{}, nil
		}
	}
}
