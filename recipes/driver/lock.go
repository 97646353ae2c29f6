package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
	zkclient "github.com/zkbench/zkbench/recipes/internal/client"
)

// Lock describes a lock, an election, a read-write lock, a semaphore or a barrier by a few functions.
type Lock struct {
	About       string
	Recipe      recipes.Recipe  // "" means a lock
	Cancels     bool            // Lock returns soon after its context is done and leaves no node
	Writes      bool            // Write of each Mutex is set
	ReportsHeld bool            // Holds of each Mutex is set
	Variant     recipes.Variant // "" if it is not one of the constants
	Promises    recipes.Promises
	Auth        bool // Open applies env.Auth, as Connect does, and env.ACL
	// Open opens one client of the lock at env.Parent, with its own session.
	Open func(ctx context.Context, env recipes.Env) (Mutex, error)
}

// Mutex is a client of a lock. Its functions are called one at a time.
type Mutex struct {
	Lock   func(context.Context) error // returns when the lock is held; after an error that does not wrap ErrFailed the outcome is unknown
	RLock  func(context.Context) error // like Lock, for reading; nil unless it is a read-write lock
	Unlock func() error                // errors as for Lock
	Close  func()                      // ends the session

	// Write writes to a node with a plain setData on the lock's session, regardless of the state of the lock. Holds
	// reports whether the lock claims to be held. Either may be nil: see Lock.Writes and Lock.ReportsHeld.
	Write func(path, value string) error
	Holds func() bool
}

// Connect opens a go-zookeeper connection to env.Servers. It returns once the connection has a session
// and has authenticated with env.Auth; zk.Connect returns earlier. options should be the options that
// the lock's users pass to zk.Connect.
func Connect(ctx context.Context, env recipes.Env, options ...func(*zk.Conn)) (*zk.Conn, error) {
	conn, events, err := zk.Connect(env.Servers, env.Timeout, func(c *zk.Conn) {
		for _, o := range options {
			o(c)
		}
	})
	if err != nil {
		return nil, err
	}
	for state := conn.State(); state != zk.StateHasSession && err == nil; {
		select {
		case e := <-events:
			state = e.State
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	if err == nil {
		err = zkclient.Authenticate(ctx, conn, env.Auth)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// ErrFailed is wrapped by the error of an operation that certainly had no effect.
var ErrFailed = errors.New("the operation had no effect")

// Main serves the lock on stdin and stdout, and exits the program when stdin ends.
func (l Lock) Main() { exit(l.Serve(context.Background(), os.Stdin, os.Stdout)) }

// Serve is like the function [Serve], for the lock.
func (l Lock) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := recipes.Subject{
		Recipe: cmp.Or(l.Recipe, recipes.RecipeLock), About: l.About, Variant: l.Variant, Promises: l.Promises,
		NoCancel: !l.Cancels, Writes: l.Writes, ReportsHeld: l.ReportsHeld,
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			m, err := l.Open(ctx, env)
			return &mutex{Mutex: m}, err
		},
	}
	ops := supportedOps(s)
	if l.Auth {
		ops = append(ops, lines.OpAuth)
	}
	d := &server{subject: s, ops: ops, dial: net.DialTimeout}
	return d.run(ctx, in, out)
}

type mutex struct {
	Mutex
	held bool
}

func (m *mutex) Acquire(ctx context.Context) (recipes.Claim, error) {
	return m.AcquireWith(ctx, recipes.AcquireOptions{})
}

func (m *mutex) AcquireWith(ctx context.Context, o recipes.AcquireOptions) (recipes.Claim, error) {
	lock := m.Lock
	if o.Mode == recipes.Read {
		lock = m.RLock
	}
	err := wrapUnfinished(lock(ctx))
	m.held = err == nil
	return recipes.Claim{}, err
}

func (m *mutex) Release(context.Context) error {
	if !m.held {
		return fmt.Errorf("%w: nothing is held", ErrFailed)
	}
	err := wrapUnfinished(m.Unlock())
	m.held = err != nil
	return err
}

func (m *mutex) Write(_ context.Context, path, value string) error {
	return wrapUnfinished(m.Mutex.Write(path, value))
}

func (m *mutex) Holds() bool { return m.Mutex.Holds() }

func (m *mutex) Close(context.Context) error {
	m.Mutex.Close()
	return nil
}

// wrapUnfinished joins err with recipes.ErrUnfinished, unless err is known to have had no effect.
func wrapUnfinished(err error) error {
	if err == nil || errors.Is(err, ErrFailed) || errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(recipes.ErrUnfinished, err)
}
