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
// over a trial. All methods are safe to call from any goroutine.
type Client struct {
	tap    *Tap
	number int
	closed chan struct{} // closed when the tap is

	mu         sync.Mutex // never held while bytes are moved
	hold       *hold
	shots      []*Shot // rules that have not done their work yet, in the order they were armed
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
	gate       bool
	delivering bool
}

// Number is the client's number.
func (c *Client) Number() int { return c.number }

// Counts returns what went over the client's connections until now: one
// consistent snapshot, cheap enough for the measured path.
func (c *Client) Counts() Counts {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts
}

// Unanswered is how many requests wait for their replies, pings aside.
func (c *Client) Unanswered() (n int64) {
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
func (c *Client) Notified() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.notified
}

// Dial connects to a server and taps the connection. It is a zk.Dialer: give it
// to zk.WithDialer. During a hold it waits for Thaw; in a Stall it returns an error
// after timeout.
func (c *Client) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	return c.dial(context.Background(), network, addr, timeout, c.admit)
}

// dial connects to a server once admit lets it.
func (c *Client) dial(ctx context.Context, network, addr string, timeout time.Duration, admit func(time.Duration) error) (net.Conn, error) {
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
func (c *Client) admit(timeout time.Duration) error {
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
func (c *Client) adopt(raw net.Conn, addr string) (net.Conn, error) {
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
func (c *Client) Cut() int {
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
func (c *Client) Gate(closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gate = closed
}

func (c *Client) connections() []*conn {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Collect(maps.Keys(c.conns))
}

func (c *Client) count(f func(*Counts)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.counts)
}

func (c *Client) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// shut ends everything for good, for Tap.Close.
func (c *Client) shut() {
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
func (c *Client) plain() bool { return len(c.shots) == 0 && c.hold == nil }
