package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// Errors that the tap itself makes.
var (
	// ErrCut is what a client sees on a connection that Cut or a Rule has cut.
	ErrCut = errors.New("connection cut by the wire tap")
	// ErrGate is what a client's dial gets while its gate is closed.
	ErrGate = errors.New("the wire tap's gate is closed")
	// ErrClosed is what a dial gets after the tap was closed.
	ErrClosed = errors.New("the wire tap is closed")
)

// Client is the tap on one client's connections: usually one at a time, many
// over a trial. All methods are safe to call from any goroutine. A [Tap] has those of this
// process; the tap on a client elsewhere can be one, too.
type Client interface {
	Number() int                   // the client's number
	Session() Session              // the latest; before the first, the zero Session
	Known() Known                  // what the client can know of the servers' state now
	Counts() Counts                // what went over its connections until now: one consistent snapshot
	Unanswered() int64             // requests that wait for their replies, pings aside
	Notified() time.Duration       // when the latest notification came by; 0 before the first one
	Node(path string) (Node, bool) // the newest node of its session below path, where Listen was called

	// Dial connects to a server and taps the connection, Listen does so for another process.
	Dial(network, addr string, timeout time.Duration) (net.Conn, error)
	Listen(server string, between func(Dialer) Dialer) (addr string, err error)

	Arm(Rule) (Shot, error) // puts a rule in force
	Hold(HoldMode) error    // keeps every byte back, both ways, until Thaw
	Thaw()                  // ends a hold
	Gate(closed bool)       // while it is closed, every dial fails at once
	Cut() int               // closes all connections, and says how many there were
	Record() *Transcript    // of all that goes over the connections from now on
}

// client is the tap on one client's connections, of this process.
type client struct {
	tap    *Tap
	number int
	closed chan struct{} // closed when the tap is

	mu         sync.Mutex // never held while bytes are moved
	hold       *hold
	shots      []*shot // rules that have not done their work yet, in the order they were armed
	events     []Event
	script     *Transcript   // of what goes by; nil where nobody asked
	current    *conn         // that has the session; nil when none has
	notified   time.Duration // when the latest notification came by
	session    Session
	due        []Session     // that were replaced before their deadlines
	missed     time.Duration // the last deadline of session that has passed
	lost       time.Duration // when the connection that had session ended; 0 while one has it
	known      Known
	counts     Counts
	conns      map[*conn]struct{}
	listeners  map[string]*listener // by the server that they stand for
	nodes      []Node               // of the session, the newest last
	unsure     bool                 // a node of it may have come or gone since the newest
	gate       bool
	delivering bool
}

// Number is the client's number.
func (c *client) Number() int { return c.number }

// Counts returns what went over the client's connections until now: one
// consistent snapshot, cheap enough for the measured path.
func (c *client) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Unanswered is how many requests wait for their replies, pings aside.
func (c *client) Unanswered() (n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k := range c.conns {
		for i := range k.pending.n {
			if k.pending.at(i).op != Ping {
				n++
			}
		}
	}
	return n
}

// Notified is when the latest notification came by, on the run's clock; 0 before
// the first one.
func (c *client) Notified() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notified
}

// Dial connects to a server and taps the connection. It is a zk.Dialer: give it
// to zk.WithDialer. During a hold it waits for Thaw; in a Stall it returns an error
// after timeout.
func (c *client) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	return c.dial(context.Background(), network, addr, timeout, c.admit)
}

// dial connects to a server once admit lets it.
func (c *client) dial(ctx context.Context, network, addr string, timeout time.Duration, admit func(time.Duration) error) (net.Conn, error) {
	c.count(func(n *Counts) { n.Dials++ })
	if err := admit(timeout); err != nil {
		c.count(func(n *Counts) { n.Refused++ })
		return nil, fmt.Errorf("client %d: dial %s: %w", c.number, addr, err)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	raw, err := c.tap.way.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return c.adopt(raw, addr)
}

// admit returns when a dial may go ahead.
func (c *client) admit(timeout time.Duration) error {
	patience := time.NewTimer(timeout)
	defer patience.Stop()
	for {
		c.mu.Lock()
		h, gate := c.hold, c.gate
		c.mu.Unlock()
		late := patience.C
		switch {
		case c.isClosed():
			return ErrClosed
		case gate:
			return ErrGate
		case h == nil:
			return nil
		case h.mode == Deaf:
			late = nil
		}
		select {
		case <-h.over:
		case <-c.closed:
		case <-late:
			return fmt.Errorf("the network is stalled by the wire tap: %w", os.ErrDeadlineExceeded)
		}
	}
}

// adopt taps a new connection. It checks the gate once more: closing the gate and then
// cutting leaves no connection that was being dialled.
func (c *client) adopt(raw net.Conn, addr string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gate || c.isClosed() {
		c.counts.Refused++
		_ = raw.Close() // nothing was sent on it
		return nil, fmt.Errorf("client %d: dial %s: %w", c.number, addr, ErrGate)
	}
	k := newConn(c, raw, addr)
	c.counts.Connections++
	c.conns[k] = struct{}{}
	if c.hold != nil && c.hold.mode == Deaf {
		k.clock.stop(raw)
	}
	return k, nil
}

// Cut closes the client's connections now. The client sees ErrCut, and may dial
// again at once: close the gate first where it must not. It returns how many
// connections there were. What a hold kept back is gone.
func (c *client) Cut() int {
	n := 0
	for _, k := range c.connections() {
		if k.end(ErrCut, nil) {
			n++
		}
	}
	return n
}

// Gate opens or closes the client's way to the servers: while it is closed,
// every dial fails at once with ErrGate. Connections that are there stay.
func (c *client) Gate(closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = closed
}

func (c *client) connections() []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.conns))
}

func (c *client) count(f func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.counts)
}

func (c *client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// shut ends everything for good, for Tap.Close.
func (c *client) shut() {
	c.mu.Lock()
	close(c.closed)
	shots := slices.Clone(c.shots)
	c.mu.Unlock()
	for _, s := range shots {
		s.Disarm()
	}
	c.closeListeners()
	c.Cut()
	c.Thaw()
}

// plain reports whether bytes pass unchanged: nothing is held, and no rule is in
// force. The caller holds c.mu.
func (c *client) plain() bool { return len(c.shots) == 0 && c.hold == nil }
