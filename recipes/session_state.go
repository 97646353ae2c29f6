package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

type sessionState int

const (
	connecting sessionState = iota
	connected
	disconnected // the servers may or may not have expired the session
	ended        // final
)

func (s *Session) currentState() (sessionState, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed
}

// AwaitConnected returns nil once the session is connected, and an error if it has ended or ctx is done.
func (s *Session) AwaitConnected(ctx context.Context) error {
	for {
		state, changed := s.currentState()
		switch state {
		case connected:
			return nil
		case ended:
			return s.Err()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// setState changes the state and calls all watchers, which must return at once. The caller holds mu.
func (s *Session) setState(next sessionState) {
	if s.state == next || s.state == ended {
		return
	}
	s.state = next
	close(s.changed)
	s.changed = make(chan struct{})
	for _, f := range s.watchers {
		f(next)
	}
}

// observe is go-zookeeper's event callback. It must neither block nor call the Conn.
func (s *Session) observe(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	if e.State == zk.StateExpired {
		s.end(errExpired)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.State == zk.StateHasSession:
		s.setState(connected)
	case e.State == zk.StateDisconnected && s.state == connected:
		s.setState(disconnected)
	}
}

// background runs f in a new goroutine, for which finish waits. It returns false, without running f, if
// the session has ended. The caller must not hold mu.
func (s *Session) background(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ended {
		return false
	}
	s.goroutines.Go(f)
	return true
}

// cleanUp runs f, which removes nodes of an abandoned operation, until f succeeds or the session ends,
// even if ctx is cancelled. It returns true once f has completed. While the connection is down it
// returns false at once, and f continues in the background.
func (s *Session) cleanUp(ctx context.Context, f func(context.Context) error) (completed bool) {
	done := make(chan struct{})
	running := s.background(func() {
		defer close(done)
		ctx := context.WithoutCancel(ctx)                // requests end with the session at the latest
		_ = s.retry(ctx, func() error { return f(ctx) }) // f records its result
	})
	for running {
		state, changed := s.currentState()
		select {
		case <-done:
			return true
		default:
		}
		if state != connected {
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

// MakePath creates path and its parents as persistent nodes if they are missing.
func (s *Session) MakePath(ctx context.Context, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		err := s.retry(ctx, func() error {
			_, err := s.Create(ctx, path[:i], []byte{}, 0)
			return err
		})
		if errors.Is(err, zk.ErrNoAuth) { // checks whether the node exists
			if stat, _ := s.Exists(ctx, path[:i]); stat != nil {
				continue
			}
		}
		if err != nil && !errors.Is(err, zk.ErrNodeExists) {
			return fmt.Errorf("make %s: %w", path, err)
		}
	}
	return nil
}

const maxParallelRemoves = 64

// RemoveTree deletes path and all nodes below it, in parallel, and retries after connection losses. A
// missing path is not an error.
func (s *Session) RemoveTree(ctx context.Context, path string) error {
	names, err := s.List(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	g, below := errgroup.WithContext(ctx)
	g.SetLimit(maxParallelRemoves)
	for _, name := range names {
		g.Go(func() error { return s.RemoveTree(below, path+"/"+name) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return s.remove(ctx, path)
}

// AwaitGone returns when the session's member has removed the node at path, or at once if the node does
// not exist. It is for observers: a waiter must list the whole line.
func (s *Session) AwaitGone(ctx context.Context, path string) error {
	for {
		got, err := s.exists(ctx, path, true)
		if err != nil || got.stat == nil {
			return err
		}
		e, err := s.wake(ctx, got.watch)
		if err != nil || e.Type == zk.EventNodeDeleted {
			return err
		}
	}
}

// remove deletes a node, and retries until the servers have confirmed that. A missing node is
// success: its delete may have lost its reply, and no other node ever has the same name.
func (s *Session) remove(ctx context.Context, path string) error {
	err := s.retry(ctx, func() error { return s.Delete(ctx, path) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// barrier returns when the session's member has executed all earlier requests of this session. After a
// reconnect an earlier request may still be in transit through the old member while the new member answers
// reads, so that a lookup would miss a node that is created later. Writes of a session are ordered:
// barrier deletes the node unused, which never existed, and the reply proves that the earlier requests were
// executed. A sync is not sufficient: it involves only the leader, which may have been deposed.
func (s *Session) barrier(ctx context.Context, unused string) error { return s.remove(ctx, unused) }
