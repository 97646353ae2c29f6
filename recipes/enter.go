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

// enter creates an ephemeral sequential node under parent and lists the parent
// right behind it, both on the wire together: one round trip instead of two.
//
// The create is protected: its name carries a random id, so that after a lost reply
// the node can be found again. A node is adopted only if its ephemeralOwner is this
// very session. If enter fails, whatever it may have created is removed.
func enter(ctx context.Context, s *Session, parent, prefix string, data []byte) (node string, names []string, err error) {
	id := newID()
	path := parent + "/" + id + prefix
	node, names, err = createAndList(ctx, s, parent, path, data)
	if errors.Is(err, zk.ErrNoNode) {
		// Nobody has made the parent yet, or it was reaped under us.
		if err := s.MakePath(ctx, parent); err != nil {
			return "", nil, err
		}
		node, names, err = createAndList(ctx, s, parent, path, data)
	}
	if err == nil {
		return node, names, nil
	}
	for errors.Is(err, ErrConnectionLost) {
		var found bool
		node, found, err = s.find(ctx, parent, id)
		if err == nil && !found {
			node, names, err = createAndList(ctx, s, parent, path, data)
			continue
		}
	}
	if err != nil {
		s.discard(ctx, parent, id)
		return "", nil, fmt.Errorf("stand in line at %s: %w", parent, err)
	}
	return node, names, nil
}

// createAndList sends the create and, as soon as it is on the wire, the list. The
// servers answer one session's requests in order, so the list sees the new node.
// names is nil if only the create succeeded.
func createAndList(ctx context.Context, s *Session, parent, path string, data []byte) (node string, names []string, err error) {
	select {
	case s.entering <- struct{}{}:
	case <-ctx.Done():
		return "", nil, ctx.Err()
	}
	written := s.nextCreate()
	type reply struct {
		node string
		err  error
	}
	created := make(chan reply, 1)
	go func() {
		node, err := s.Create(ctx, path, data, zk.FlagEphemeral|zk.FlagSequence)
		created <- reply{node, err}
	}()
	var r reply
	select {
	case <-written:
		<-s.entering
		names, _ = s.List(ctx, parent) // on an error the caller lists again
		r = <-created
	case r = <-created:
		<-s.entering
	}
	if r.err != nil {
		return "", nil, r.err
	}
	return r.node, names, nil
}

// find looks for the node with our id whose owner is this session.
func (s *Session) find(ctx context.Context, parent, id string) (path string, found bool, err error) {
	if err := s.barrier(ctx, parent+"/"+id); err != nil {
		return "", false, err
	}
	names, err := s.List(ctx, parent)
	if errors.Is(err, zk.ErrNoNode) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	for _, name := range names {
		if !strings.HasPrefix(name, id) {
			continue
		}
		path := parent + "/" + name
		stat, err := s.Exists(ctx, path)
		if err != nil {
			return "", false, err
		}
		if stat != nil && stat.EphemeralOwner == s.ID() {
			return path, true, nil
		}
	}
	return "", false, nil
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

// discard removes the node with our id, if there is one. It returns once that is
// certain, or at once when the connection is down: then it goes on in the background
// until the node is removed or the session, and with it the node, has ended.
func (s *Session) discard(ctx context.Context, parent, id string) {
	s.sweep(ctx, func(ctx context.Context) error {
		path, found, err := s.find(ctx, parent, id)
		if err != nil || !found {
			return err
		}
		return s.remove(ctx, path)
	})
}

// sweep runs f until it succeeds or the session ends, not bound to ctx's
// cancellation: what an abandoned operation left behind must go all the same. It
// waits for f while the session is connected.
func (s *Session) sweep(ctx context.Context, f func(context.Context) error) {
	swept := make(chan struct{})
	running := s.background(func() {
		defer close(swept)
		ctx, cancel := s.lifetime(context.WithoutCancel(ctx))
		defer cancel()
		for {
			err := f(ctx)
			if err == nil || answered(err) || s.AwaitConnected(ctx) != nil {
				return
			}
		}
	})
	for running {
		s.mu.Lock()
		state, changed := s.state, s.changed
		s.mu.Unlock()
		if state != Connected {
			return
		}
		select {
		case <-swept:
			return
		case <-changed:
		}
	}
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
