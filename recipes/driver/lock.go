package driver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/internal/lines"
)

// Lock describes a lock, an election, a read-write lock, a semaphore or a barrier by a few functions.
type Lock struct {
	About    string
	Recipe   recipes.Recipe  // "" is a lock
	Cancels  bool            // Lock returns soon after its context is done, and leaves no node
	Writes   bool            // each Mutex has a Write
	Tells    bool            // each Mutex has a Holds
	Variant  recipes.Variant // "" for another one
	Promises recipes.Promises
	Auth     bool // Open uses env.Auth, as Connect does, and env.ACL
	// Open opens one client of the lock at env.Parent, with a session of its own.
	Open func(ctx context.Context, env recipes.Env) (Mutex, error)
}

// Mutex is a client of a lock. Its methods are called one at a time.
type Mutex struct {
	Lock   func(context.Context) error // returns when it is held; after an error the outcome is unknown, unless it wraps ErrFailed
	RLock  func(context.Context) error // of a read-write lock: the same for reading
	Unlock func() error                // errors as for Lock
	Close  func()                      // ends the session

	// Write writes to a node with a plain setData on the lock's session, regardless of the state of the
	// lock. Holds reports whether the lock claims to be held. Either may be nil: see Lock.Writes
	// and Lock.Tells.
	Write func(path, value string) error
	Holds func() bool
}

// Connect returns a connection of go-zookeeper to env.Servers once it has a session and has
// authenticated with env.Auth; zk.Connect returns earlier. Pass the options that the lock's users
// pass.
func Connect(ctx context.Context, env recipes.Env, options ...func(*zk.Conn)) (*zk.Conn, error) {
	connected := make(chan struct{})
	var once sync.Once
	options = append(options, zk.WithEventCallback(func(e zk.Event) {
		if e.State == zk.StateHasSession {
			once.Do(func() { close(connected) })
		}
	}))
	conn, _, err := zk.Connect(env.Servers, env.Timeout, func(c *zk.Conn) {
		for _, o := range options {
			o(c)
		}
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-connected:
		err = authenticate(ctx, conn, env.Auth)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// authenticate returns when the connection has authenticated, or ctx is done: the caller then
// closes it, which ends the request.
func authenticate(ctx context.Context, conn *zk.Conn, with []recipes.Auth) error {
	done := make(chan error, 1)
	go func() {
		var err error
		for _, a := range with {
			err = errors.Join(err, conn.AddAuth(a.Scheme, []byte(a.Auth)))
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ErrFailed is for errors of an operation that certainly had no effect.
var ErrFailed = errors.New("it had no effect")

// Main is the whole program: it serves the lock on stdin and stdout, and exits.
func (l Lock) Main() { exit(l.Serve(context.Background(), os.Stdin, os.Stdout)) }

func (l Lock) Serve(ctx context.Context, in io.Reader, out io.Writer) error {
	s := recipes.Subject{
		Recipe: cmp.Or(l.Recipe, recipes.RecipeLock), About: l.About, Variant: l.Variant, Promises: l.Promises,
		NoCancel: !l.Cancels, Writes: l.Writes, ReportsHeld: l.Tells,
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			m, err := l.Open(ctx, env)
			return &mutex{Mutex: m}, err
		},
	}
	ops := offers(s)
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
	err := unsure(lock(ctx))
	m.held = err == nil
	return recipes.Claim{}, err
}

func (m *mutex) Release(context.Context) error {
	if !m.held {
		return fmt.Errorf("%w: nothing is held", ErrFailed)
	}
	err := unsure(m.Unlock())
	m.held = err != nil
	return err
}

func (m *mutex) Write(_ context.Context, path, value string) error {
	return unsure(m.Mutex.Write(path, value))
}

func (m *mutex) Holds() bool { return m.Mutex.Holds() }

func (m *mutex) Close(context.Context) error {
	m.Mutex.Close()
	return nil
}

// unsure marks the outcome of an error as unknown, unless it is known to have failed.
func unsure(err error) error {
	if err == nil || errors.Is(err, ErrFailed) || errors.Is(err, context.Canceled) {
		return err
	}
	return errors.Join(recipes.ErrUnfinished, err)
}
