package recipes

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"
)

// entry is the way of one node of ours into line.
type entry struct {
	s      *Session
	path   string // of the node, without its number
	id     string // the random id at the start of its name
	parent string
	data   []byte

	made bool // a node of ours may exist

	// pending delivers the outcome of the last create. That create is not bound to any
	// context: until it is sent, nobody can know that there will be nothing to remove.
	pending chan created
	flight  *flight // its
}

type created struct {
	spot
	err error
}

// spot is a node of ours in line.
type spot struct {
	node  string // its path
	czxid int64
}

// enter creates an ephemeral sequential node under parent and lists the parent
// right behind it, both on the wire together: one round trip instead of two. names
// is nil where the list is not to be had.
//
// The create is protected: its name carries a random id, so that after a lost reply
// the node can be found again. A node is adopted only if its ephemeralOwner is this
// very session. If enter fails, whatever it may have created is removed.
func enter(ctx context.Context, s *Session, parent, prefix string, data []byte) (at spot, names []string, err error) {
	id := newID()
	e := &entry{s: s, parent: parent, id: id, path: parent + "/" + id + prefix, data: data}
	in := false
	defer func() {
		if !in && e.made {
			s.sweep(ctx, e.undo)
		}
	}()
	for again := true; again; {
		again = false
		at, names, err = e.createAndList(ctx)
		switch {
		case errors.Is(err, zk.ErrNoNode):
			// Nobody has made the parent yet, or it was reaped under us.
			err = s.MakePath(ctx, parent)
			again = err == nil
		case errors.Is(err, ErrConnectionLost):
			var found bool
			names = nil
			at, found, err = s.find(ctx, parent, id)
			again = !found && (err == nil || errors.Is(err, ErrConnectionLost))
		}
	}
	if err != nil {
		return spot{}, nil, fmt.Errorf("stand in line at %s: %w", parent, err)
	}
	in = true
	return at, names, nil
}

// createAndList sends the create and, as soon as it is on the wire, the list. The
// servers answer one session's requests in order, so the list sees the new node.
//
// A create's reply comes over a connection that the servers have accepted for this
// very session (Session.admit), so the node is ours; its zxid is the node's czxid.
func (e *entry) createAndList(ctx context.Context) (at spot, names []string, err error) {
	s := e.s
	flight, pending := s.takeOff(e.path), make(chan created, 1)
	e.flight, e.pending, e.made = flight, pending, true
	forever := context.WithoutCancel(ctx)
	go func() {
		node, err := s.Create(forever, e.path, e.data, zk.FlagEphemeral|zk.FlagSequence)
		s.land(e.path)
		pending <- created{spot{node, flight.zxid}, err}
	}()
	select {
	case <-flight.written:
		names, _ = s.List(ctx, e.parent) // on an error the caller lists again
	case r := <-pending:
		return r.spot, nil, e.answered(r)
	case <-ctx.Done():
		return spot{}, nil, ctx.Err()
	}
	select {
	case r := <-pending:
		return r.spot, names, e.answered(r)
	case <-ctx.Done():
		return spot{}, nil, ctx.Err()
	}
}

// answered notes what the answer proves.
func (e *entry) answered(r created) error {
	e.pending = nil
	e.made = r.err == nil || Indeterminate(r.err)
	return r.err
}

// undo removes whatever the entry has created, or may have.
func (e *entry) undo(ctx context.Context) error {
	if e.pending != nil {
		// Until then the create might be sent after all that we send here.
		select {
		case <-e.flight.written:
		case r := <-e.pending: // at the latest when the session ends
			if e.answered(r); !e.made {
				return nil
			}
		}
	}
	at, found, err := e.s.find(ctx, e.parent, e.id)
	if err != nil || !found {
		return err
	}
	return e.s.remove(ctx, at.node)
}

// find looks for the node with our id whose owner is this session.
func (s *Session) find(ctx context.Context, parent, id string) (at spot, found bool, err error) {
	if err := s.barrier(ctx, parent+"/"+id); err != nil {
		return spot{}, false, err
	}
	names, err := s.List(ctx, parent)
	if errors.Is(err, zk.ErrNoNode) {
		return spot{}, false, nil
	}
	if err != nil {
		return spot{}, false, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, id) {
			continue
		}
		path := parent + "/" + name
		stat, err := s.Exists(ctx, path)
		if err != nil {
			return spot{}, false, err
		}
		if stat != nil && stat.EphemeralOwner == s.ID() {
			return spot{path, stat.Czxid}, true, nil
		}
	}
	return spot{}, false, nil
}

// barrier returns when the member that serves us has caught up with everything that
// this session has sent before. After a reconnect that is not a matter of course: a
// request of ours may still be on its way through the old member while the new one
// already answers reads, and a node looked for too early is not found, and stays
// for ever. Writes are in one order, so a write of ours that changes nothing (the
// delete of a node that never was) ends the doubt. A sync would not: it asks the
// leader alone, who may have been deposed.
func (s *Session) barrier(ctx context.Context, unused string) error {
	err := s.again(ctx, func() error { return s.Delete(ctx, unused) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// sweep runs f until it succeeds or the session ends, not bound to ctx's
// cancellation: what an abandoned operation left behind must go all the same. It
// returns true once f has run to its end. While the connection is down it returns
// false at once, and f goes on in the background.
func (s *Session) sweep(ctx context.Context, f func(context.Context) error) (swept bool) {
	done := make(chan struct{})
	running := s.background(func() {
		defer close(done)
		ctx, cancel := s.lifetime(context.WithoutCancel(ctx))
		defer cancel()
		for {
			err := f(ctx)
			if !errors.Is(err, ErrConnectionLost) || s.AwaitConnected(ctx) != nil {
				return
			}
		}
	})
	for running {
		s.mu.Lock()
		state, changed := s.state, s.changed
		s.mu.Unlock()
		select {
		case <-done:
			return true
		default:
		}
		if state != Connected {
			return false
		}
		select {
		case <-done:
			return true
		case <-changed:
		}
	}
	return false
}

// lifetime returns a context that ends with the session.
func (s *Session) lifetime(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	now, unsubscribe := s.subscribe(func(state State) {
		if state == Ended {
			cancel()
		}
	})
	if now == Ended {
		cancel()
	}
	return ctx, func() { unsubscribe(); cancel() }
}

// remove deletes a node of ours, repeated until the servers have said that it is
// gone: after a lost reply NoNode is as good as done, since no other node ever has
// the same name.
func (s *Session) remove(ctx context.Context, path string) error {
	err := s.again(ctx, func() error { return s.Delete(ctx, path) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// MakePath creates path and its parents as persistent nodes where they are missing.
func (s *Session) MakePath(ctx context.Context, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		err := s.again(ctx, func() error {
			_, err := s.Create(ctx, path[:i], nil, 0)
			return err
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("make %s: %w", path, err)
		}
	}
	return nil
}

// newID returns 64 random bits in hex: enough to be unique under one parent, and
// short, because every waiter reads every name. (Half of Curator's id.)
func newID() string {
	var b [8]byte
	rand.Read(b[:]) // never fails: crypto/rand
	return hex.EncodeToString(b[:])
}
