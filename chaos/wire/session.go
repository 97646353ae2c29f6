package wire

import (
	"bytes"
	"time"
)

// Session is what the wire has shown of a client's latest session.
type Session struct {
	ID       int64
	Password []byte        // with ID it lets anyone take the session over
	Timeout  time.Duration // as negotiated, not as requested
	Server   string        // the address that the client has the session on now; "" when on none
	// LastAckSent is when the client handed over the latest request (ping and
	// handshake included) whose answer has reached it: the last time at which the
	// client can be sure that the server heard it.
	LastAckSent time.Duration
	Expired     bool // the server's word that the session is gone was delivered
	Closed      bool // the client closed it, and that was acknowledged
}

// Deadline is when the session may be over for all that the client knows: no
// grant may be trusted after it.
func (s Session) Deadline() time.Duration { return s.LastAckSent + s.Timeout }

// EventKind says what became of a session.
type EventKind int

// The kinds of event.
const (
	Connected EventKind = iota // a server accepted the session, new or resumed
	Lost                       // the connection that carried it ended; the session may live
	Expired                    // the server said that the session is gone
	Closed                     // the server acknowledged that the client closed it
)

// String is the kind in one word.
func (k EventKind) String() string {
	return [...]string{"connected", "lost", "expired", "closed"}[k]
}

// Event is something that became of a client's session.
type Event struct {
	At      time.Duration // on the run's clock
	Client  int
	Kind    EventKind
	Session int64         // its id
	Resumed bool          // Connected: the session that the client had before
	Timeout time.Duration // negotiated
	Server  string        // where
	Err     error         // Lost: why
}

// Session returns what is known of the client's latest session. Before the
// first one it is the zero Session.
func (c *Client) Session() Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.session
	s.Password = bytes.Clone(s.Password)
	return s
}

// handshake takes in a ConnectResponse. The caller holds c.mu.
func (k *conn) handshake(head []byte) {
	c := k.c
	e := Event{Kind: Connected, Session: int64At(head, 8), Server: k.addr,
		Timeout: time.Duration(int32At(head, 4)) * time.Millisecond}
	if e.Session == 0 {
		e.Kind, e.Session = Expired, k.asked
		k.expired = true
		c.session.Expired, c.session.Server = true, ""
		c.note(e)
		return
	}
	e.Resumed = e.Session == c.session.ID
	c.session = Session{ID: e.Session, Password: bytes.Clone(bytesAt(head, 16)), Timeout: e.Timeout,
		Server: k.addr, LastAckSent: k.greeted}
	c.current = k
	c.note(e)
}

// acknowledged takes in that a request has been answered. The caller holds c.mu.
func (k *conn) acknowledged(s sent) {
	c := k.c
	if c.current != k {
		return
	}
	c.session.LastAckSent = max(c.session.LastAckSent, s.at)
	if s.op == CloseSession {
		c.session.Closed, c.session.Server, c.current = true, "", nil
		c.note(Event{Kind: Closed, Session: c.session.ID, Timeout: c.session.Timeout, Server: k.addr})
	}
}

// lost takes in that a connection ended. The caller holds c.mu.
func (k *conn) lost(why error) {
	c := k.c
	if c.current != k {
		return
	}
	c.session.Server, c.current = "", nil
	c.note(Event{Kind: Lost, Session: c.session.ID, Timeout: c.session.Timeout, Server: k.addr, Err: why})
}

// note queues an event for tell. The caller holds c.mu.
func (c *Client) note(e Event) {
	if c.tap.onEvent == nil {
		return
	}
	e.At, e.Client = c.tap.now(), c.number
	c.events = append(c.events, e)
}

// tell hands queued events to the callback, in order. Whoever is at it already
// takes ours too: so a callback may itself do what causes events.
func (c *Client) tell() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.telling {
		return
	}
	c.telling = true
	for len(c.events) > 0 {
		e := c.events[0]
		c.events = c.events[1:]
		c.mu.Unlock()
		c.tap.onEvent(e)
		c.mu.Lock()
	}
	c.telling = false
}
