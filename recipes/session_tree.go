package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"
)

// MakePath creates path and its parents as persistent nodes if they are missing.
func (s *Session) MakePath(ctx context.Context, path string) error {
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			continue
		}
		err := s.again(ctx, func() error {
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

// removeAtOnce is the number of nodes that RemoveTree deletes in parallel.
const removeAtOnce = 64

// RemoveTree deletes path and everything below it, in parallel, retrying over connection losses. A
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
	g.SetLimit(removeAtOnce)
	for _, name := range names {
		g.Go(func() error { return s.RemoveTree(below, path+"/"+name) })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	return s.remove(ctx, path)
}

// AwaitGone returns when the session's member has removed the node at path; at once if there is
// none. It is for observers: a waiter must list the whole line.
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

// WatchChildren calls see with the names of the children of path, now and after every change that
// it sees, until ctx is done or the session has ended; it returns the reason. It is for observers:
// each change notifies it.
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

// remove deletes a node, retrying until the servers have confirmed that. After a lost reply NoNode
// counts as success: no other node ever has the same name.
func (s *Session) remove(ctx context.Context, path string) error {
	err := s.again(ctx, func() error { return s.Delete(ctx, path) })
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

// barrier returns when the session's member has executed everything that this session has sent
// before. After a reconnect it may not have: an own request may still be in transit through the
// old member while the new one answers reads. A node that is looked up too early is not found, and
// stays. Writes are ordered, so an own write that changes nothing, the delete of a node that
// never existed, proves it. A sync would not: it involves only the leader, which may have been
// deposed.
func (s *Session) barrier(ctx context.Context, unused string) error { return s.remove(ctx, unused) }
