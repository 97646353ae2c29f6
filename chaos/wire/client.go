package wire

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

var (
	// ErrCut is the error of a connection that Cut or a Rule has cut.
	ErrCut = errors.New("connection cut by the wire tap")
	// ErrGate is the error of a dial while the client's gate is closed.
	ErrGate = errors.New("the wire tap's gate is closed")
	// ErrClosed is the error of a dial after the tap was closed.
	ErrClosed = errors.New("the wire tap is closed")
)

// Moments are the times of a client's last messages without pings, on the run's clock; 0 before the first.
type Moments struct {
	Changed, Applied time.Duration // the last write that was answered, and its reply
	Notified         time.Duration // the last notification
	Asked            time.Duration // the first request after Notified; 0 if there was none
	Answered         time.Duration // the last reply
}

// Client is the tap of one client's connections: usually one at a time, many over a trial. All
// methods are safe for concurrent use. [Tap] implements it for clients of this process.
type Client interface {
	Number() int // the client's number
	Session() Session
	Known() Known                  // the servers' state as far as the client can know it
	Counts() Counts                // a consistent snapshot of its traffic
	Unanswered() int64             // requests in flight, without pings
	Moments() Moments              // the times of its last messages
	Node(path string) (Node, bool) // the session's newest node below path, if Listen was called

	// Dial connects to a server through the tap; Listen does so for another process.
	Dial(network, addr string, timeout time.Duration) (net.Conn, error)
	Listen(server string, between func(Dialer) Dialer) (addr string, err error)

	Arm(Rule) (ArmedRule, error) // arms a rule
	Hold() error
	EndHold()
	SetGateClosed(closed bool) // while closed, every dial fails at once with ErrGate; connections stay
	Cut() int                  // closes all connections and returns their number
	Record() *Transcript
}

type client struct {
	tap    *Tap
	number int
	ctx    context.Context // ends with the tap
	close  context.CancelFunc

	mu               sync.Mutex    // not held during I/O
	hold             chan struct{} // closed when the hold ends; nil if the client is not held
	armedRules       []*armedRule  // armed rules, in the order of arming
	events           []Event
	transcript       *Transcript // nil if not recording
	current          *conn       // the connection that has the session, or nil
	moments          Moments
	session          Session
	replacedSessions []Session     // sessions that were replaced before their deadlines
	missed           time.Duration // the last deadline that has passed
	lostAt           time.Duration // end of the connection that had the session; 0 while a connection has it
	known            Known
	counts           Counts
	conns            map[*conn]struct{}
	listeners        map[string]*listener // by server
	nodes            []Node               // of the session, the newest last
	nodesUncertain   bool                 // nodes may be incomplete: a request may have created or deleted a node
	gateClosed       bool
	delivering       bool
}

func (c *client) Number() int { return c.number }

func (c *client) Counts() Counts { return snapshot(c, &c.counts) }

func (c *client) Moments() Moments { return snapshot(c, &c.moments) }

func snapshot[T any](c *client, field *T) T {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *field
}

func (c *client) Unanswered() int64 {
	n := c.Counts()
	return n.InFlight - n.Pinging
}

// Dial is a zk.Dialer that connects to a server through the tap. During a hold it waits for EndHold.
func (c *client) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	return c.dial(context.Background(), network, addr, timeout, c.admit)
}

func (c *client) dial(ctx context.Context, network, addr string, timeout time.Duration, admit func() error) (net.Conn, error) {
	c.count(func(n *Counts) { n.Dials++ })
	if err := admit(); err != nil {
		c.count(func(n *Counts) { n.Refused++ })
		return nil, fmt.Errorf("client %d: dial %s: %w", c.number, addr, err)
	}
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	raw, err := c.tap.upstream.dial(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return c.adopt(raw, addr)
}

func (c *client) admit() error {
	for {
		c.mu.Lock()
		hold, gate := c.hold, c.gateClosed
		c.mu.Unlock()
		switch {
		case c.ctx.Err() != nil:
			return ErrClosed
		case gate:
			return ErrGate
		case hold == nil:
			return nil
		}
		select {
		case <-hold:
		case <-c.ctx.Done():
		}
	}
}

// adopt taps a new connection. It checks the gate again: closing the gate and then cutting leaves
// no connection that was being dialled.
func (c *client) adopt(raw net.Conn, addr string) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gateClosed || c.ctx.Err() != nil {
		c.counts.Refused++
		_ = raw.Close() // nothing was sent on it
		return nil, fmt.Errorf("client %d: dial %s: %w", c.number, addr, ErrGate)
	}
	k := newConn(c, raw, addr)
	c.counts.Connections++
	c.conns[k] = struct{}{}
	if c.hold != nil {
		k.clock.stop(raw)
	}
	return k, nil
}

// Cut closes the client's connections and returns their number. The client sees ErrCut and may dial
// again at once; close the gate first to prevent that. Bytes that a hold kept back are dropped.
func (c *client) Cut() int {
	n := 0
	for _, k := range c.connections() {
		if k.end(ErrCut, nil) {
			n++
		}
	}
	return n
}

func (c *client) SetGateClosed(closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gateClosed = closed
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

func (c *client) shut() {
	c.mu.Lock()
	c.close()
	rules := slices.Clone(c.armedRules)
	c.mu.Unlock()
	for _, s := range rules {
		s.Disarm()
	}
	c.closeListeners()
	c.Cut()
	c.EndHold()
}

func (c *client) isPassThrough() bool { return len(c.armedRules) == 0 && c.hold == nil }
