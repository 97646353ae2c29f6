package recipes

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

func init() {
	Register(Subject{
		Name: "lock/writelock", Recipe: RecipeLock, Variant: Predecessor,
		About:    "built-in, after ZooKeeper's WriteLock: the session id in the name; ten attempts with increasing delays; waits for its predecessor. Exclusive while sessions are alive; fenced by czxid; fifo",
		Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, Writes: true, ReportsHeld: true,
		Formulas: relisting,
		Open: openContender(func(s *Session, env Env) *contender {
			return &contender{acquire: NewSessionNameLock(s, env.Parent, LockListener{}).Lock}
		}),
	})
}

const (
	sessionNameTries = 10
	sessionNameDelay = 500 * time.Millisecond
	// sessionNamePrefix separates the session's ID and the sequence number.
	sessionNamePrefix = "-"
)

// LockListener receives the events of a SessionNameLock. Each function may be nil, and must return at once.
type LockListener struct {
	LockAcquired func()
	LockReleased func() // also if the node may still exist
}

// SessionNameLock is the lock of ZooKeeper's own recipes, whose class is named WriteLock. Its node is named x-SESSION-NUMBER. These
// are its steps, and its deviations from the original:
//
//   - Look for a node with this session's ID in its name, which an earlier try may
//     have made; create it if it does not exist. Here a write precedes the search if a reply was
//     lost: the session's member may not have the node yet. The node is adopted only if its owner is
//     this session, too.
//   - List, sort by number: the lowest has the lock. (The order by name, session first, is
//     zoo/order-by-prefix.)
//   - Check whether the preceding node exists, with a watch. If it does not, start again: the
//     original waits, without a watch that could notify it (zoo/missed-wakeup).
//   - A lost connection is retried ten times, after 0, 500, 1000, ... ms; then the
//     caller gets the error. A wait is not a retry: it resets the count.
//   - A Lock that fails leaves no node. A user of the original has to call unlock.
//   - Lock waits. The original lock returns false, and notifies its listener later.
//
// One SessionNameLock belongs to one session, and one session has one SessionNameLock at a parent.
type SessionNameLock struct {
	s        *Session
	parent   string
	listener LockListener
	busy     chan struct{} // full from the start of a Lock until it holds or its node is deleted

	// last is the number of the node of the last grant, if granted is true. That node and older nodes
	// are not adopted, since their removal may be in progress.
	last    int32
	granted bool
}

func NewSessionNameLock(s *Session, parent string, l LockListener) *SessionNameLock {
	return &SessionNameLock{s: s, parent: parent, listener: l, busy: make(chan struct{}, 1)}
}

type lockAttempt struct {
	*SessionNameLock
	entry *entry
	at    createdNode // our node; "" while it is unknown
}

// Lock waits until the lock is held, and returns the grant, for Unlock or Grant.Release. After an error it
// leaves no node in a live session.
func (l *SessionNameLock) Lock(ctx context.Context) (g *Grant, err error) {
	select {
	case l.busy <- struct{}{}:
	case <-l.s.done: // the node of an earlier Lock was removed with the session
		return nil, fmt.Errorf("lock %s: %w", l.parent, l.s.Err())
	case <-ctx.Done():
		return nil, fmt.Errorf("lock %s: %w", l.parent, context.Cause(ctx))
	}
	id := fmt.Sprintf("x-%d", l.s.ID())
	try := &lockAttempt{SessionNameLock: l, entry: &entry{
		s: l.s, parent: l.parent, id: id, path: l.parent + "/" + id + sessionNamePrefix, data: []byte{0x12, 0x34},
	}}
	defer func() {
		if g != nil {
			<-l.busy
			return
		}
		l.s.cleanUp(ctx, func(ctx context.Context) error {
			err := try.undo(ctx)
			if err == nil {
				<-l.busy
			}
			return err
		})
	}()
	if g, err = try.retry(ctx); err != nil {
		return nil, fmt.Errorf("lock %s: %w", l.parent, err)
	}
	if l.listener.LockAcquired != nil {
		l.listener.LockAcquired()
	}
	return g, nil
}

// Unlock releases the grant that Lock has returned, and notifies the listener.
func (l *SessionNameLock) Unlock(ctx context.Context, g *Grant) error {
	if l.listener.LockReleased != nil {
		defer l.listener.LockReleased()
	}
	return g.Release(ctx)
}

// retry repeats the steps after connection losses, and until it is our turn.
func (l *lockAttempt) retry(ctx context.Context) (*Grant, error) {
	for try := 0; ; {
		g, err := l.execute(ctx)
		switch {
		case g != nil:
			return g, nil
		case err == nil:
			try = 0
		case !errors.Is(err, ErrConnectionLost), errors.Is(err, ErrSessionEnded), try == sessionNameTries:
			return nil, err
		default:
			select {
			case <-time.After(time.Duration(try) * sessionNameDelay):
				try++
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			}
		}
	}
}

func (l *lockAttempt) execute(ctx context.Context) (*Grant, error) {
	names, err := l.enter(ctx)
	if err == nil && names == nil {
		names, err = request(ctx, l.s, "list", l.parent, len(l.parent), func(c *zk.Conn) ([]string, error) {
			names, _, err := c.Children(l.parent)
			return names, err
		})
	}
	if err != nil {
		return nil, err
	}
	n, next, found := ahead(names, client.Base(l.at.node), sessionNamePrefix, sessionNamePrefix)
	switch {
	case !found:
		l.at = createdNode{} // another client has deleted it: join again
		return nil, nil
	case n > 0:
		return nil, l.await(ctx, l.parent+"/"+next)
	case !l.s.confirmed():
		return nil, l.s.barrier(ctx, l.at.node+"-barrier")
	}
	g, standing := newGrant(l.s, l.at.node, l.at.czxid)
	if !standing {
		return nil, l.s.AwaitConnected(ctx)
	}
	l.last, l.granted = sequence(l.at.node, sessionNamePrefix)
	return g, nil
}

// enter finds or creates the session's node. names is the list of the parent at that time; nil if unknown.
func (l *lockAttempt) enter(ctx context.Context) (names []string, err error) {
	if l.at.node != "" {
		return nil, nil
	}
	at, err := l.find(ctx)
	if at.node == "" && err == nil {
		var listed reply
		at, listed, err = l.entry.createAndList(ctx)
		names = listed.names
	}
	if errors.Is(err, zk.ErrNoNode) {
		return nil, l.s.MakePath(ctx, l.parent)
	}
	if err == nil {
		l.at = at
	}
	return names, err
}

func (l *lockAttempt) find(ctx context.Context) (createdNode, error) {
	if l.entry.mayExist {
		if err := l.s.barrier(ctx, l.parent+"/"+l.entry.id+"-barrier"); err != nil {
			return createdNode{}, err
		}
	}
	names, err := l.s.List(ctx, l.parent)
	if err != nil {
		return createdNode{}, err
	}
	names = slices.DeleteFunc(names, func(name string) bool {
		n, ok := sequence(name, sessionNamePrefix)
		return !ok || l.granted && !before(l.last, n)
	})
	return l.s.own(ctx, l.parent, l.entry.id+sessionNamePrefix, names)
}

// undo removes the node of this Lock once its create has returned: the next Lock's create has the same name.
func (l *lockAttempt) undo(ctx context.Context) error {
	if l.entry.pending != nil {
		_ = l.entry.recordResult(<-l.entry.pending) // at the latest when the session ends
	}
	at, err := l.find(ctx)
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil
	case err != nil || at.node == "":
		return err
	}
	return l.s.remove(ctx, at.node)
}

func (l *lockAttempt) await(ctx context.Context, path string) error {
	got, err := request(ctx, l.s, "exists", path, len(path), existsCall(path, true))
	if err != nil || got.stat == nil {
		return err
	}
	_, err = l.s.wake(ctx, got.watch)
	return err
}
