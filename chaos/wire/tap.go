package wire

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Tap taps all client connections of one trial.
type Tap struct {
	now       func() time.Duration
	onEvent   func(Event)
	upstream  Upstream
	admit     func(net.Conn) bool // nil admits all
	addresses *Addresses          // nil: the servers' addresses stay

	mu      sync.Mutex
	clients map[int]*client
	closed  bool
}

// New returns a tap. now is the run's monotonic clock; it is called concurrently.
func New(now func() time.Duration) *Tap {
	return &Tap{now: now, clients: make(map[int]*client)}
}

// OnEvent sets the function for the session events of all clients. Set it before the first Dial. For one
// client the calls are serialized and in order, on the goroutine that reads from or closes the connection,
// usually before the client learns of the event: f must not block. It may call the tap.
func (t *Tap) OnEvent(f func(Event)) { t.onEvent = f }

// SetAdmit sets the function that decides whether a connection to a listener is accepted, so that only the
// clients' own processes can connect. It is called before anything is read. Set it before the first Listen.
func (t *Tap) SetAdmit(f func(net.Conn) bool) { t.admit = f }

// Client returns the tap of client n, always the same for the same n.
func (t *Tap) Client(n int) Client { return t.client(n) }

func (t *Tap) client(n int) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[n]
	if c == nil {
		if c = newClient(t, n); t.closed {
			c.close()
		}
		t.clients[n] = c
	}
	return c
}

func newClient(t *Tap, n int) *client {
	c := &client{tap: t, number: n, conns: make(map[*conn]struct{})}
	c.ctx, c.close = context.WithCancel(context.Background())
	return c
}

func (t *Tap) all() []*client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.clients), func(a, b *client) int { return cmp.Compare(a.number, b.number) })
}

// Totals returns the sum of all clients' counts, each consistent but read at a slightly different time.
func (t *Tap) Totals() Counts {
	var sum Counts
	for _, c := range t.all() {
		sum = sum.Add(c.Counts())
	}
	return sum
}

// Close ends the trial: all rules are disarmed, all holds end, all connections are cut, and no dial
// succeeds. All goroutines of the tap have ended once the clients have stopped reading.
func (t *Tap) Close() {
	t.mu.Lock()
	t.closed = true // later clients are created closed
	t.mu.Unlock()
	for _, c := range t.all() {
		c.shut()
	}
	if t.addresses != nil {
		t.addresses.probe.shut()
	}
}

// ErrUnknownSession means that the server does not know a session.
var ErrUnknownSession = errors.New("the server does not know the session")

// takeoverTimeout bounds one attempt at one server. A local reply takes milliseconds; an isolated or
// frozen server does not reply, and other servers can be tried.
const takeoverTimeout = 500 * time.Millisecond

// CloseAt closes the session over a new connection to the server at addr, as the session's client
// would: to the server, the holder of ID and password is the client. The server closes the client's
// own connection. When CloseAt returns nil the close is committed, and the session's ephemeral
// nodes are deleted. It returns ErrUnknownSession if there was no session to close.
func (s Session) CloseAt(ctx context.Context, addr string) error {
	// In one write: the client, whose connection is closed now, might resume its session at another
	// server before a second write.
	conn, err := s.takeOver(ctx, addr, closeRequest())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for {
		body, err := readFrame(conn, replyExtents[1].least)
		if err != nil {
			return fmt.Errorf("%s did not answer closeSession: %w", addr, err)
		}
		if int32At(body, 0) != closeXid {
			continue
		}
		if code := int32At(body, 12); code != 0 {
			return fmt.Errorf("%s refused closeSession: error %d", addr, code)
		}
		return nil
	}
}

// KnownAt reports whether the server at addr knows the session. The request takes a known session
// over: the server closes the client's own connection.
func (s Session) KnownAt(ctx context.Context, addr string) (bool, error) {
	conn, err := s.takeOver(ctx, addr, nil)
	if errors.Is(err, ErrUnknownSession) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}

// takeOver connects to a server as the session's client. first is sent directly after the ConnectRequest.
func (s Session) takeOver(ctx context.Context, addr string, first []byte) (_ net.Conn, err error) {
	limit := takeoverTimeout
	if s.upstream.Dial != nil {
		limit *= 4 // a handshake takes longer
	}
	dialing, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := s.upstream.dial(dialing, "tcp", addr)
	if err != nil {
		return nil, err
	}
	// Closing the connection ends a read when the context does.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer func() {
		if !stop() {
			err = errors.Join(context.Cause(ctx), err)
		}
		if err != nil {
			conn.Close()
		}
	}()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	if first != nil {
		first = append(s.upstream.authRequest(), first...)
	}
	if _, err := conn.Write(append(connectRequest(s), first...)); err != nil {
		return nil, err
	}
	body, err := readFrame(conn, replyExtents[0].least)
	if err != nil {
		return nil, fmt.Errorf("%s did not answer the ConnectRequest: %w", addr, err)
	}
	if int64At(body, 8) != s.ID { // also 0 if the password is wrong
		return nil, ErrUnknownSession
	}
	return conn, nil
}

// ByOp is one count for each opcode; Of returns them.
type ByOp [len(opcodes)]int64

// Of returns the count for one opcode. Unknown opcodes share the count of Any.
func (b ByOp) Of(op Op) int64 { return b[op.slot()] }

// Total returns the sum of all counts except that of pings.
func (b ByOp) Total() int64 {
	var sum int64
	for _, n := range b {
		sum += n
	}
	return sum - b.Of(Ping)
}

// Notifications are the numbers of received notifications, by type of event.
type Notifications struct {
	Created, Deleted, Changed, Child int64
	Other                            int64 // removed watches, session events
}

// Total returns the number of notifications of all types.
func (n Notifications) Total() int64 {
	return n.Created + n.Deleted + n.Changed + n.Child + n.Other
}

// Counts is the traffic of one client's connections, or of all clients', as the client sees it:
// requests that it sent, replies that reached it. A reply that a [Rule] dropped is not among the
// replies, and its request is Abandoned.
//
// Once a connection's requests are parsed, requests = replies - Unmatched + Abandoned + InFlight.
type Counts struct {
	Replies             int64
	FramesIn, FramesOut int64 // all frames, with handshakes, pings and notifications
	BytesIn, BytesOut   int64
	InFlight            int64 // now: requests without a reply
	Pinging             int64 // now: pings among them

	Requests      ByOp // by opcode, with pings
	Errors        ByOp // replies that carried an error, by the opcode of their request
	Notifications Notifications

	Dials       int64 // calls to Dial
	Refused     int64 // dials that the gate or a hold refused
	Connections int64 // successful dials

	Abandoned   int64 // requests whose reply never came: the connection ended, or a rule dropped it
	Unmatched   int64 // replies for which no request was seen
	ParseErrors int64 // directions of connections that could not be parsed

	Queued int64 // now: bytes sent by the client that the tap keeps back
}

func (c *Counts) addInFlight(op Op, more int64) {
	c.InFlight += more
	if op == Ping {
		c.Pinging += more
	}
}

// Sub returns the counts since before. The present values InFlight, Pinging and Queued remain those of c.
func (c Counts) Sub(before Counts) Counts {
	d := c.plus(before, -1)
	d.InFlight, d.Pinging, d.Queued = c.InFlight, c.Pinging, c.Queued
	return d
}

// Add returns the sum of the counts, including InFlight, Pinging and Queued.
func (c Counts) Add(other Counts) Counts { return c.plus(other, 1) }

func (c Counts) plus(o Counts, sign int64) Counts {
	for i := range c.Requests {
		c.Requests[i] += sign * o.Requests[i]
		c.Errors[i] += sign * o.Errors[i]
	}
	sums, terms := c.scalars(), o.scalars()
	for i := range sums {
		*sums[i].n += sign * *terms[i].n
	}
	return c
}

type scalar struct {
	name string
	n    *int64
}

// scalars lists every count that is not kept per opcode; a test checks that the list is complete. It
// returns an array, not a slice, so that adding up the counts of thousands of clients does not allocate.
func (c *Counts) scalars() [19]scalar {
	n := &c.Notifications
	return [...]scalar{
		{"replies", &c.Replies},
		{"notifications.created", &n.Created}, {"notifications.deleted", &n.Deleted},
		{"notifications.changed", &n.Changed}, {"notifications.child", &n.Child}, {"notifications.other", &n.Other},
		{"frames.in", &c.FramesIn}, {"frames.out", &c.FramesOut}, {"bytes.in", &c.BytesIn}, {"bytes.out", &c.BytesOut},
		{"dials", &c.Dials}, {"dials.refused", &c.Refused}, {"connections", &c.Connections},
		{"abandoned", &c.Abandoned}, {"unmatched", &c.Unmatched}, {"parse.errors", &c.ParseErrors},
		{"inflight", &c.InFlight}, {"pinging", &c.Pinging}, {"queued", &c.Queued},
	}
}
