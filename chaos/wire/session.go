package wire

import (
	"bytes"
	"context"
	"slices"
	"time"
)

// Session is the state of a client's latest session, from the tap.
type Session struct {
	ID       int64
	Password []byte        // with ID it allows any process to take the session over
	Timeout  time.Duration // as negotiated, not as requested
	Server   string        // the address of the server to which the session is connected; "" if not connected
	// LastAckSent is when the client sent the latest request (including pings and the handshake) whose
	// reply has reached it: the client knows that a server received a request sent at that time.
	LastAckSent time.Duration
	Expired     bool // a server's message that the session has expired was delivered
	Closed      bool // the client closed the session, and received the reply

	upstream Upstream // dials the servers
}

// WithUpstream returns the session, seen by another tap, with a way to its servers.
func (s Session) WithUpstream(w Upstream) Session {
	s.upstream = w
	return s
}

// Deadline returns when the session may have expired, as far as the client knows: then a grant is not safe.
func (s Session) Deadline() time.Duration { return s.LastAckSent + s.Timeout }

// EventKind is the type of a session event.
type EventKind int

const (
	Connected EventKind = iota
	Lost
	Expired  // a server reported that the session has expired
	Closed   // the client closed the session, and received the reply
	Deadline // its deadline passed without another acknowledged request; At is the deadline
	ReplyLost
)

func (k EventKind) String() string {
	return [...]string{"connected", "lost", "expired", "closed", "deadline", "reply-lost"}[k]
}

// Event is an event of a client's session.
type Event struct {
	At      time.Duration // on the run's clock
	Client  int
	Kind    EventKind
	Session int64
	Resumed bool
	Timeout time.Duration // negotiated
	Server  string
	Err     error
	Request Request
	// Lost is when the previous connection of a Resumed session ended; 0 if there was none.
	Lost time.Duration
}

// Request is a request of a client.
type Request struct {
	Xid  int32 // the client's number, cxid in a transaction log
	Op   Op
	Sent time.Duration // when the client sent the request
}

func (c *client) Session() Session { return snapshot(c, &c.session) }

func (k *conn) handshake(head []byte) {
	c := k.c
	e := Event{Kind: Connected, Session: int64At(head, 8), Timeout: time.Duration(int32At(head, 4)) * time.Millisecond}
	if e.Session == 0 {
		e.Kind, e.Session = Expired, k.connectSessionID
		k.expired = true
		if c.session.ID == 0 || c.session.ID == k.connectSessionID { // otherwise an old connection has resumed next to a new one
			c.session.Expired, c.session.Server = true, ""
		}
		k.queueEvent(e)
		return
	}
	e.Resumed = e.Session == c.session.ID
	c.recordMissedDeadlines(e.Resumed)
	if e.Resumed {
		e.Lost = c.lostAt
	} else {
		c.nodes, c.nodesUncertain = nil, false
	}
	c.lostAt = 0
	c.session = Session{ID: e.Session, Password: bytes.Clone(bytesAt(head, 16)), Timeout: e.Timeout,
		Server: k.addr, LastAckSent: k.connectSentAt, upstream: c.tap.upstream}
	c.current, k.session = k, e.Session
	k.queueEvent(e)
}

// The caller holds c.mu.
func (k *conn) recordAcknowledged(s pendingRequest) {
	c := k.c
	if c.current != k {
		return
	}
	c.recordMissedDeadlines(true)
	c.session.LastAckSent = max(c.session.LastAckSent, s.at)
	if s.op == CloseSession {
		c.session.Closed, c.session.Server, c.current = true, "", nil
		k.queueEvent(Event{Kind: Closed, Session: c.session.ID, Timeout: c.session.Timeout})
	}
}

// The caller holds c.mu.
func (k *conn) recordLost(why error) {
	c := k.c
	if c.current != k {
		return
	}
	c.session.Server, c.current, c.lostAt = "", nil, c.tap.now()
	k.queueEvent(Event{Kind: Lost, Session: c.session.ID, Timeout: c.session.Timeout, Err: why})
}

// queueEvent queues an event for deliverEvents. The caller holds c.mu.
func (k *conn) queueEvent(e Event) {
	e.At, e.Server = k.c.tap.now(), k.addr
	k.c.queueEvent(e)
}

func (c *client) queueEvent(e Event) {
	if c.tap.onEvent != nil {
		e.Client = c.number
		c.events = append(c.events, e)
	}
}

// recordMissedDeadlines records the sessions whose deadlines have passed, each once. It is called before the
// latest session is acknowledged again or replaced, and periodically. A replaced session stays due,
// because it will not be acknowledged again. The caller holds c.mu.
func (c *client) recordMissedDeadlines(sameSession bool) {
	now := c.tap.now()
	c.replacedSessions = slices.DeleteFunc(c.replacedSessions, func(s Session) bool { return c.recordIfPassed(s, now) })
	s := c.session
	if s.ID == 0 || s.Closed || s.Deadline() == c.missed {
		return
	}
	switch {
	case c.recordIfPassed(s, now):
		c.missed = s.Deadline()
	case !sameSession:
		c.replacedSessions = append(c.replacedSessions, s)
	}
}

func (c *client) recordIfPassed(s Session, now time.Duration) bool {
	if now < s.Deadline() {
		return false
	}
	c.queueEvent(Event{Kind: Deadline, At: s.Deadline(), Session: s.ID, Timeout: s.Timeout, Server: s.Server})
	return true
}

// deadlinesEvery is the largest delay of a deadline's event. The time in the event is exact.
const deadlinesEvery = time.Second

// WatchDeadlines delivers the event of every session whose deadline has passed, until ctx is done.
// If a later request is acknowledged, the event is delivered then at the latest.
func (t *Tap) WatchDeadlines(ctx context.Context) {
	ticker := time.NewTicker(deadlinesEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			t.checkDeadlines()
		case <-ctx.Done():
			return
		}
	}
}

func (t *Tap) checkDeadlines() {
	for _, c := range t.all() {
		c.mu.Lock()
		c.recordMissedDeadlines(true)
		c.mu.Unlock()
		c.deliverEvents()
	}
}

// deliverEvents delivers the queued events in order. A call in progress also delivers events that
// are queued in the meantime, so a callback may cause events.
func (c *client) deliverEvents() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.delivering {
		return
	}
	c.delivering = true
	for len(c.events) > 0 {
		e := c.events[0]
		c.events = c.events[1:]
		c.mu.Unlock()
		c.tap.onEvent(e)
		c.mu.Lock()
	}
	c.delivering = false
}
