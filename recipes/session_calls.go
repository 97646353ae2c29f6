package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Calls. go-zookeeper knows neither contexts nor timeouts, so each call that can be
// cancelled runs on a goroutine of its own, which outlives a cancelled caller until
// the reply, the loss of the connection or the end of the session.

var openACL = zk.WorldACL(zk.PermAll)

// do runs f and translates its error: ErrSessionEnded alone when nothing was sent;
// with ErrConnectionLost when the session ended under way; ErrConnectionLost;
// ErrUnfinished with ctx's error; or the server's answer.
func (s *Session) do(ctx context.Context, what, path string, f func(*zk.Conn) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: not sent: %w", what, path, err)
	}
	answered, err := s.call(ctx, f)
	switch {
	case !answered && ctx.Err() != nil:
		return fmt.Errorf("%s %s: %w: %w", what, path, ErrUnfinished, context.Cause(ctx))
	case !answered:
		return fmt.Errorf("%s %s: not sent: %w", what, path, s.Err())
	case err == nil:
		return nil
	case !replyLost(err):
		return fmt.Errorf("%s %s: %w", what, path, err)
	case errors.Is(err, zk.ErrSessionExpired):
		s.end(ErrExpired)
	}
	if gone := s.Err(); gone != nil {
		return fmt.Errorf("%s %s: %w: %w", what, path, ErrConnectionLost, gone)
	}
	return fmt.Errorf("%s %s: %w (%v)", what, path, ErrConnectionLost, err)
}

// call runs f until it has answered or ctx is done. It does not run it where the
// session has ended before.
func (s *Session) call(ctx context.Context, f func(*zk.Conn) error) (answered bool, err error) {
	if ctx.Done() == nil && s.Err() == nil {
		return true, f(s.conn) // nothing but f can end this: no goroutine needed
	}
	reply := make(chan error, 1)
	if !s.background(func() { reply <- f(s.conn) }) {
		return false, nil
	}
	select {
	case err := <-reply:
		return true, err
	case <-ctx.Done():
		return false, nil
	}
}

// again repeats a call that changes nothing, or that may safely be repeated, until
// it is answered, the session ends, or ctx is done.
func (s *Session) again(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, ErrConnectionLost) {
			return err
		}
		if err := s.AwaitConnected(ctx); err != nil {
			return err
		}
	}
}

// Create makes a node and returns its path, once: after ErrConnectionLost the node
// may exist. Flags as in package zk.
func (s *Session) Create(ctx context.Context, path string, data []byte, flags int32) (string, error) {
	var made string
	err := s.do(ctx, "create", path, func(c *zk.Conn) (err error) {
		made, err = c.Create(path, data, flags, openACL)
		return err
	})
	if err != nil {
		return "", err // made may still be written to
	}
	return made, nil
}

// Delete removes a node whatever its version, once.
func (s *Session) Delete(ctx context.Context, path string) error {
	return s.do(ctx, "delete", path, func(c *zk.Conn) error { return c.Delete(path, -1) })
}

// children is the reply to a list.
type children struct {
	names []string
	watch <-chan zk.Event // nil without a watch
}

// List returns the names of the children of path, repeated over connection losses.
func (s *Session) List(ctx context.Context, path string) ([]string, error) {
	got, err := s.list(ctx, path, false)
	return got.names, err
}

// list is List, on demand with a watch on the children.
func (s *Session) list(ctx context.Context, path string, watch bool) (children, error) {
	var out children
	err := s.again(ctx, func() error {
		var got children
		err := s.do(ctx, "list", path, func(c *zk.Conn) (err error) {
			if watch {
				got.names, _, got.watch, err = c.ChildrenW(path)
			} else {
				got.names, _, err = c.Children(path)
			}
			return err
		})
		if err == nil {
			out = got
		}
		return err
	})
	return out, err
}

// Exists returns the Stat of path, or nil if there is no such node, repeated over
// connection losses.
func (s *Session) Exists(ctx context.Context, path string) (*zk.Stat, error) {
	stat, _, err := s.exists(ctx, path, false)
	return stat, err
}

// exists is Exists, on demand with a watch. The watch is set either way: on a
// missing node it waits for its creation.
func (s *Session) exists(ctx context.Context, path string, watch bool) (*zk.Stat, <-chan zk.Event, error) {
	type reply struct {
		stat  *zk.Stat
		found bool
		watch <-chan zk.Event
	}
	var out reply
	err := s.again(ctx, func() error {
		var got reply
		err := s.do(ctx, "exists", path, func(c *zk.Conn) (err error) {
			if watch {
				got.found, got.stat, got.watch, err = c.ExistsW(path)
			} else {
				got.found, got.stat, err = c.Exists(path)
			}
			return err
		})
		if err == nil {
			out = got
		}
		return err
	})
	if err != nil || !out.found {
		return nil, out.watch, err
	}
	return out.stat, out.watch, nil
}

// Get returns the data and the Stat of path, repeated over connection losses.
func (s *Session) Get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	data, stat, _, err := s.get(ctx, path, false)
	return data, stat, err
}

// get is Get, on demand with a watch. On a missing node no watch is set.
func (s *Session) get(ctx context.Context, path string, watch bool) ([]byte, *zk.Stat, <-chan zk.Event, error) {
	type reply struct {
		data  []byte
		stat  *zk.Stat
		watch <-chan zk.Event
	}
	var out reply
	err := s.again(ctx, func() error {
		var got reply
		err := s.do(ctx, "get", path, func(c *zk.Conn) (err error) {
			if watch {
				got.data, got.stat, got.watch, err = c.GetW(path)
			} else {
				got.data, got.stat, err = c.Get(path)
			}
			return err
		})
		if err == nil {
			out = got
		}
		return err
	})
	return out.data, out.stat, out.watch, err
}

// Multi runs the operations as one transaction, once.
func (s *Session) Multi(ctx context.Context, ops ...any) error {
	return s.do(ctx, "multi", "", func(c *zk.Conn) error {
		_, err := c.Multi(ops...)
		return err
	})
}

// Set writes data to path if it still has that version, once.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (*zk.Stat, error) {
	var out *zk.Stat
	err := s.do(ctx, "set", path, func(c *zk.Conn) error {
		stat, err := c.Set(path, data, version)
		if err == nil {
			out = stat
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
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
