// Package client wraps go-zookeeper's connection for the recipes: it has no log, and callers can wait for a state.
package client

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"strings"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// Options of a connection.
type Options struct {
	Servers    []string
	Timeout    time.Duration
	Dial       zk.Dialer
	MaxPacket  int             // length of the longest reply, in bytes
	MaxRequest int             // size of the buffer for requests, in bytes; 0: MaxPacket
	Hosts      zk.HostProvider // nil: the library's own
	Auth       []Auth          // credentials of every connection
}

// Auth is the credentials of a connection.
type Auth struct {
	Scheme string `json:"scheme"` // "digest"
	Auth   string `json:"auth"`   // "user:password"
}

// Authenticate authenticates a connection that has a session, and returns when that is done. The library
// repeats it at every reconnect.
func Authenticate(ctx context.Context, c *zk.Conn, with []Auth) error {
	for _, a := range with {
		_, answered, err := Call(ctx, func() (struct{}, error) { return struct{}{}, c.AddAuth(a.Scheme, []byte(a.Auth)) })
		if !answered {
			err = context.Cause(ctx)
		}
		if err != nil {
			return fmt.Errorf("authenticate (scheme %s): %w", a.Scheme, err)
		}
	}
	return nil
}

// Connect calls zk.Connect with these options. onEvent is called with every event as it occurs.
func Connect(o Options, onEvent func(zk.Event)) (*zk.Conn, <-chan zk.Event, error) {
	hosts := func(c *zk.Conn) {
		if o.Hosts != nil {
			zk.WithHostProvider(o.Hosts)(c)
		}
	}
	r := &receive{dial: o.Dial, max: o.MaxPacket}
	return zk.Connect(o.Servers, o.Timeout, hosts, r.option, zk.WithDialer(r.Dial), zk.WithEventCallback(onEvent),
		zk.WithLogger(log.New(io.Discard, "", 0)), zk.WithLogInfo(false),
		zk.WithMaxConnBufferSize(cmp.Or(o.MaxRequest, o.MaxPacket)))
}

// OpenACL allows everything to all clients.
var OpenACL = zk.WorldACL(zk.PermAll)

// ACL returns acl, or open access if it is nil.
func ACL(acl []zk.ACL) []zk.ACL {
	if acl == nil {
		return OpenACL
	}
	return acl
}

var ErrExpired = errors.New("the servers expired the session")

// Conn is a connection that reports its state; see Await. When its session expires, the library opens a new one on
// the same Conn.
type Conn struct {
	*zk.Conn
	onState func(zk.State)

	mu      sync.Mutex
	state   zk.State
	changed chan struct{} // closed and replaced at every change
	expired bool
}

// Open connects, and returns when the connection has a session. onState, if not nil, is called with every
// state as it changes.
func Open(ctx context.Context, o Options, onState func(zk.State)) (*Conn, error) {
	c := &Conn{onState: onState, changed: make(chan struct{})}
	conn, _, err := Connect(o, c.observe)
	if err != nil {
		return nil, err
	}
	c.Conn = conn
	if err = c.Await(ctx, false); err == nil {
		err = Authenticate(ctx, conn, o.Auth)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *Conn) observe(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	c.mu.Lock()
	c.state = e.State
	c.expired = c.expired || e.State == zk.StateExpired
	close(c.changed)
	c.changed = make(chan struct{})
	c.mu.Unlock()
	if c.onState != nil {
		c.onState(e.State)
	}
}

// Await returns when the connection has a session. Unless next is true, it returns ErrExpired once the
// first session has expired.
func (c *Conn) Await(ctx context.Context, next bool) error {
	for {
		c.mu.Lock()
		state, changed, expired := c.state, c.changed, c.expired
		c.mu.Unlock()
		switch {
		case expired && !next:
			return ErrExpired
		case state == zk.StateHasSession:
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Expired reports whether a session of the connection has expired.
func (c *Conn) Expired() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.expired
}

// Call runs f and returns its result, or answered = false once ctx is done; f then continues until it is
// answered. go-zookeeper's calls have no contexts.
func Call[T any](ctx context.Context, f func() (T, error)) (value T, answered bool, err error) {
	type result struct {
		value T
		err   error
	}
	done := make(chan result, 1)
	go func() {
		v, err := f()
		done <- result{v, err}
	}()
	select {
	case r := <-done:
		return r.value, true, r.err
	case <-ctx.Done():
		return value, false, nil
	}
}

// OwnNode returns the first of names that begins with prefix and whose node belongs to the session, and
// the Stat of the node. It returns "" and nil if there is none.
func OwnNode(names []string, prefix string, session int64, stat func(name string) (*zk.Stat, error)) (string, *zk.Stat, error) {
	for _, name := range names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		s, err := stat(name)
		if err != nil {
			return "", nil, err
		}
		if s != nil && s.EphemeralOwner == session {
			return name, s, nil
		}
	}
	return "", nil, nil
}

// NewID returns 64 random bits in hex: unique under one parent, and short, because every waiter
// reads every name. (Half the length of Curator's.)
func NewID() string {
	var b [8]byte
	rand.Read(b[:]) // crypto/rand never fails
	return hex.EncodeToString(b[:])
}

// Base returns the last element of a path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
