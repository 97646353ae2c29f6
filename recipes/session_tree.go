package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// MakePath creates path and its parents as persistent nodes where they are missing.
func (s *Session) MakePath(ctx context.Context, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		err := s.again(ctx, func() error {
			_, err := s.Create(ctx, path[:i], []byte{}, 0)
			return err
		})
		if errors.Is(err, zk.ErrNoAuth) { // asked before whether the node is there
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

// RemoveTree deletes path and everything below it, repeated over connection losses.
// A path that is not there is no error.
func (s *Session) RemoveTree(ctx context.Context, path string) error {
	names, err := s.List(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.RemoveTree(ctx, path+"/"+name); err != nil {
			return err
		}
	}
	return s.remove(ctx, path)
}

// AwaitGone returns when the member that serves the session has removed the node at
// path; at once, if there is none. It is for observers: whoever waits for a turn must
// list the whole line.
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

// WatchChildren calls see with the names of the children of path, now and after every
// change that it sees, until ctx is done or the session has ended; it returns why. It is
// for observers: each change wakes it.
func (s *Session) WatchChildren(ctx context.Context, path string, see func(names []string)) error {
	for {
		got, err := s.list(ctx, path, true)
		if err != nil {
			return err
		}
		see(got.names)
		if _, err := s.wake(ctx, got.watch); err != nil {
			return err
		}
	}
}

// remove deletes a node, repeated until the servers have said that it is gone. After a
// lost reply NoNode is as good as done: no other node ever has the same name.
func (s *Session) remove(ctx context.Context, path string) error {
	err := s.again(ctx, func() error { return s.Delete(ctx, path) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// barrier returns when the member that serves us has caught up with everything that
// this session has sent before. After a reconnect it may not have: a request of ours
// may still be on its way through the old member while the new one already answers
// reads. A node asked for too early is not found, and stays for ever. Writes are in one
// order, so a write of ours that changes nothing, the delete of a node that never was,
// proves it. A sync would not: it asks the leader alone, who may have been deposed.
func (s *Session) barrier(ctx context.Context, unused string) error { return s.remove(ctx, unused) }
