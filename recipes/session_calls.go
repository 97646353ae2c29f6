package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// request runs f, a call of go-zookeeper, and translates its error. The result wraps ErrSessionEnded alone if nothing
// was sent, both it and ErrConnectionLost if the session ended during the request, ErrConnectionLost, ErrUnfinished
// with ctx's error, or the server's error. size is the length of the request's paths, data and ACL, in bytes.
func request[T any](
	ctx context.Context, s *Session, what, path string, size int, f func(*zk.Conn) (T, error),
) (T, error) {
	var none T
	err := ctx.Err()
	if err == nil {
		err = s.ensureBuffer(ctx, size)
	}
	if err != nil {
		return none, fmt.Errorf("%s %s: not sent: %w", what, path, err)
	}
	got, answered, err := call(ctx, s, f)
	switch {
	case !answered && ctx.Err() != nil:
		return none, fmt.Errorf("%s %s: %w: %w", what, path, ErrUnfinished, context.Cause(ctx))
	case !answered:
		return none, fmt.Errorf("%s %s: not sent: %w", what, path, s.Err())
	case err == nil:
		return got, nil
	case !isReplyLost(err):
		return none, fmt.Errorf("%s %s: %w", what, path, err)
	case errors.Is(err, zk.ErrSessionExpired):
		s.end(errExpired)
	}
	if ended := s.Err(); ended != nil {
		return none, fmt.Errorf("%s %s: %w: %w", what, path, ErrConnectionLost, ended)
	}
	return none, fmt.Errorf("%s %s: %w (%v)", what, path, ErrConnectionLost, err)
}

// call runs f and returns its result, or answered = false if ctx is done first or the session has ended
// before, in which case f does not run. go-zookeeper's calls have neither contexts nor timeouts: after a
// cancellation f continues until the reply, the loss of the connection or the end of the session.
func call[T any](ctx context.Context, s *Session, f func(*zk.Conn) (T, error)) (value T, answered bool, err error) {
	if ctx.Done() == nil && s.Err() == nil {
		value, err = f(s.conn) // cannot be cancelled: no goroutine is needed
		return value, true, err
	}
	type result struct {
		value T
		err   error
	}
	reply := make(chan result, 1)
	if !s.background(func() { v, err := f(s.conn); reply <- result{v, err} }) {
		return value, false, nil
	}
	select {
	case r := <-reply:
		return r.value, true, r.err
	case <-ctx.Done():
		return value, false, nil
	}
}

// retry repeats f, which must be a read or idempotent, after connection losses, until it is answered, the
// session ends, or ctx is done.
func (s *Session) retry(ctx context.Context, f func() error) error {
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

type reply struct {
	names []string
	data  []byte
	stat  *zk.Stat        // nil if there is no such node
	watch <-chan zk.Event // nil without a watch
}

func (s *Session) read(ctx context.Context, what, path string, f func(*zk.Conn) (reply, error)) (got reply, err error) {
	err = s.retry(ctx, func() error {
		got, err = request(ctx, s, what, path, len(path), f)
		return err
	})
	return got, err
}

// List returns the names of the children of path. It retries after connection losses.
func (s *Session) List(ctx context.Context, path string) ([]string, error) {
	got, err := s.list(ctx, path, false)
	return got.names, err
}

func (s *Session) list(ctx context.Context, path string, watch bool) (reply, error) {
	return s.read(ctx, "list", path, func(c *zk.Conn) (got reply, err error) {
		if watch {
			got.names, got.stat, got.watch, err = c.ChildrenW(path)
		} else {
			got.names, got.stat, err = c.Children(path)
		}
		return got, err
	})
}

// Exists returns the Stat of the node at path, or nil if it does not exist. It retries after connection losses.
func (s *Session) Exists(ctx context.Context, path string) (*zk.Stat, error) {
	got, err := s.exists(ctx, path, false)
	return got.stat, err
}

// exists is Exists, optionally with a watch. On a missing node the watch fires at its creation.
func (s *Session) exists(ctx context.Context, path string, watch bool) (reply, error) {
	return s.read(ctx, "exists", path, existsCall(path, watch))
}

func existsCall(path string, watch bool) func(*zk.Conn) (reply, error) {
	return func(c *zk.Conn) (got reply, err error) {
		var found bool
		if watch {
			found, got.stat, got.watch, err = c.ExistsW(path)
		} else {
			found, got.stat, err = c.Exists(path)
		}
		if !found {
			got.stat = nil
		}
		return got, err
	}
}

// Get returns the data and the Stat of the node at path; if it does not exist, the error wraps
// zk.ErrNoNode. It retries after connection losses.
func (s *Session) Get(ctx context.Context, path string) ([]byte, *zk.Stat, error) {
	got, err := s.get(ctx, path, false)
	return got.data, got.stat, err
}

// get is Get, optionally with a watch, which is not set on a missing node.
func (s *Session) get(ctx context.Context, path string, watch bool) (reply, error) {
	return s.read(ctx, "get", path, func(c *zk.Conn) (got reply, err error) {
		if watch {
			got.data, got.stat, got.watch, err = c.GetW(path)
		} else {
			got.data, got.stat, err = c.Get(path)
		}
		return got, err
	})
}

// Create creates a node and returns its path. It does not retry: after ErrConnectionLost the node
// may exist. flags are those of package zk.
func (s *Session) Create(ctx context.Context, path string, data []byte, flags int32) (string, error) {
	acl := client.ACL(s.options.ACL)
	size := len(path) + len(data)
	for _, a := range acl {
		size += len(a.Scheme) + len(a.ID) + 12
	}
	return request(ctx, s, "create", path, size, func(c *zk.Conn) (string, error) {
		return c.Create(path, data, flags, acl)
	})
}

// Delete removes a node of any version. It does not retry.
func (s *Session) Delete(ctx context.Context, path string) error {
	_, err := request(ctx, s, "delete", path, len(path), func(c *zk.Conn) (struct{}, error) {
		return struct{}{}, c.Delete(path, -1)
	})
	return err
}

// Set writes data to the node at path if that has the given version; -1 matches any. It does not retry.
func (s *Session) Set(ctx context.Context, path string, data []byte, version int32) (*zk.Stat, error) {
	return request(ctx, s, "set", path, len(path)+len(data), func(c *zk.Conn) (*zk.Stat, error) {
		return c.Set(path, data, version)
	})
}

// multi runs the operations as one transaction. It does not retry.
func (s *Session) multi(ctx context.Context, ops ...any) error {
	size := 0
	for _, op := range ops {
		switch op := op.(type) {
		case *zk.DeleteRequest:
			size += len(op.Path)
		case *zk.SetDataRequest:
			size += len(op.Path) + len(op.Data)
		}
	}
	_, err := request(ctx, s, "multi", "", size, func(c *zk.Conn) ([]zk.MultiResponse, error) { return c.Multi(ops...) })
	return err
}
