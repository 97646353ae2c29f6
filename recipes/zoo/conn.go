package zoo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// conn is a connection of go-zookeeper, used as most applications do: it follows the state, and retries
// requests after connection losses.
type conn struct {
	*client.Conn
	// spansSessions lets requests continue in the next session after the session has expired, as the library
	// does by default.
	spansSessions bool
	acl           []zk.ACL
}

// go-zookeeper's DNSHostProvider resolves the servers' names when the connection is created, and never again
// (its issue 104). Most applications have one connection as long as they run: once all servers have other
// addresses, as after the restart of all pods, it never connects again. Here each process resolves a name once,
// because zkbench opens a client again after an operation with an unknown outcome.
func init() {
	s := lockSubject("resolves-once", "resolves the servers' names only once, so it never connects again once all of them have other addresses", steps{})
	open := s.Open
	var resolved sync.Map // addresses by name
	s.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
		env.Servers = slices.Clone(env.Servers)
		for i, server := range env.Servers {
			now, err := net.ResolveTCPAddr("tcp", server)
			if err != nil {
				return nil, err
			}
			first, _ := resolved.LoadOrStore(server, now.String())
			env.Servers[i] = first.(string)
		}
		return open(ctx, env)
	}
	recipes.Register(s)
}

var errExpired = fmt.Errorf("%w: %w", recipes.ErrSessionEnded, client.ErrExpired)

func connect(ctx context.Context, env recipes.Env, onState func(zk.State)) (*conn, error) {
	c, err := client.Open(ctx, client.Options{
		Servers: env.Servers, Timeout: env.Timeout, Dial: env.Dial, MaxPacket: env.MaxPacket, Auth: env.Auth,
	}, onState)
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, acl: client.ACL(env.ACL)}, nil
}

func (c *conn) await(ctx context.Context) error {
	err := c.Await(ctx, c.spansSessions)
	if errors.Is(err, client.ErrExpired) {
		return errExpired
	}
	return err
}

// once makes one request. The request continues after ctx is done.
func once[T any](ctx context.Context, f func() (T, error)) (T, error) {
	v, answered, err := client.Call(ctx, f)
	if !answered {
		return v, fmt.Errorf("%w: %w", recipes.ErrUnfinished, ctx.Err())
	}
	return v, err
}

// retry repeats a request until its reply arrives.
func retry[T any](ctx context.Context, c *conn, f func() (T, error)) (T, error) {
	for {
		if c.Expired() && !c.spansSessions {
			var zero T
			return zero, errExpired
		}
		v, err := once(ctx, f)
		if !isReplyLost(err) {
			return v, err
		}
		if err := c.await(ctx); err != nil {
			return v, err
		}
	}
}

func isReplyLost(err error) bool {
	if err == nil || errors.Is(err, recipes.ErrUnfinished) || errors.Is(err, recipes.ErrSessionEnded) {
		return false
	}
	return !slices.ContainsFunc([]error{
		zk.ErrNoNode, zk.ErrNodeExists, zk.ErrBadVersion, zk.ErrNotEmpty, zk.ErrNoAuth,
		zk.ErrInvalidACL, zk.ErrBadArguments, zk.ErrNoChildrenForEphemerals, zk.ErrInvalidPath,
	}, func(answer error) bool { return errors.Is(err, answer) })
}

// markReplyLost returns err; if the reply was lost, it wraps ErrConnectionLost, because the outcome is unknown.
func markReplyLost(err error) error {
	if isReplyLost(err) {
		return fmt.Errorf("%w: %w", recipes.ErrConnectionLost, err)
	}
	return err
}

func (c *conn) create(ctx context.Context, path string, data []byte, flags int32) (string, error) {
	return once(ctx, func() (string, error) { return c.Create(path, data, flags, c.acl) })
}

func (c *conn) delete(ctx context.Context, path string) error {
	_, err := once(ctx, c.deleting(path))
	return err
}

func (c *conn) deleting(path string) func() (struct{}, error) {
	return func() (struct{}, error) { return struct{}{}, c.Delete(path, -1) }
}

func (c *conn) remove(ctx context.Context, path string) error {
	_, err := retry(ctx, c, c.deleting(path))
	if errors.Is(err, zk.ErrNoNode) {
		return nil
	}
	return err
}

func (c *conn) list(ctx context.Context, path string) ([]string, error) {
	return retry(ctx, c, c.listing(path))
}

func (c *conn) listing(path string) func() ([]string, error) {
	return func() ([]string, error) {
		names, _, err := c.Children(path)
		return names, err
	}
}

func (c *conn) stat(ctx context.Context, path string) (*zk.Stat, error) {
	return retry(ctx, c, func() (*zk.Stat, error) {
		found, stat, err := c.Exists(path)
		if !found {
			stat = nil
		}
		return stat, err
	})
}

type watched struct {
	found bool
	names []string
	watch <-chan zk.Event
}

func (c *conn) watchNode(ctx context.Context, path string) (watched, error) {
	return retry(ctx, c, func() (w watched, err error) {
		w.found, _, w.watch, err = c.ExistsW(path)
		return w, err
	})
}

func (c *conn) watchChildren(ctx context.Context, path string) (watched, error) {
	return retry(ctx, c, func() (w watched, err error) {
		w.names, _, w.watch, err = c.ChildrenW(path)
		return w, err
	})
}

func (w watched) wait(ctx context.Context) error {
	select {
	case <-w.watch:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
