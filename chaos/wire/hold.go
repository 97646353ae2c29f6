package wire

import (
	"errors"
	"net"
	"os"
	"sync"
	"time"
)

// HoldMode says what the client notices of a hold.
type HoldMode int

// The modes of a hold.
const (
	// Stall is a network that carries nothing: the client's read deadlines fire,
	// go-zookeeper's after two thirds of the session timeout, and dials time out.
	Stall HoldMode = iota
	// Deaf is a paused client: the clock of its read deadlines stands still, and
	// it learns nothing until the hold ends. This is how a process looks to the
	// servers that is swapped out, stopped or collecting garbage.
	Deaf
)

// ErrHeld says that a client is held already.
var ErrHeld = errors.New("the client is held already")

// hold is a hold in force.
type hold struct {
	mode HoldMode
	over chan struct{} // closed at its end
}

// Hold keeps every byte back, both ways, until Thaw: the client's writes are
// accepted and queued, its reads block. Connections stay up, so a server learns
// of it only by silence. A connection that the client closes meanwhile is closed
// for the server too, and what was queued on it is gone. It returns ErrHeld in a
// hold.
func (c *Client) Hold(mode HoldMode) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold != nil {
		return ErrHeld
	}
	c.hold = &hold{mode: mode, over: make(chan struct{})}
	if mode == Deaf {
		for k := range c.conns {
			k.clock.stop(k.raw)
		}
	}
	return nil
}

// Thaw ends a hold: everything that was kept back is delivered in order, ahead
// of what comes after. It does not wait for that. Without a hold it does nothing.
func (c *Client) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold == nil {
		return
	}
	close(c.hold.over)
	c.hold = nil
	for k := range c.conns {
		k.clock.start(k.raw)
		if len(k.queue) > 0 {
			go k.flush() // ends with the connection at the latest
		}
	}
}

// awaitThaw returns when the client is not held: nil, or why there is nothing
// more to read, or in a stall that the read deadline has passed.
func (k *conn) awaitThaw() error {
	for {
		k.c.mu.Lock()
		h, gone := k.c.hold, k.why
		k.c.mu.Unlock()
		if gone != nil {
			return gone
		}
		if h == nil {
			return nil
		}
		if err := k.clock.wait(h, k.done); err != nil {
			return err
		}
	}
}

// readClock is a connection's read deadline, with a clock that can be stopped.
type readClock struct {
	mu      sync.Mutex
	due     time.Time     // as the client set it; zero: none
	setAt   time.Time     // when it was set, if that was while stopped
	stopped time.Time     // since when the clock stands; zero: it runs
	changed chan struct{} // closed when due changes; nil when nobody waits
}

func (r *readClock) set(raw net.Conn, t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = t
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
	if !r.stopped.IsZero() {
		r.setAt = time.Now()
		return nil
	}
	return raw.SetReadDeadline(t)
}

// stop takes the deadline off the connection.
func (r *readClock) stop(raw net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped.IsZero() {
		r.stopped, r.setAt = time.Now(), time.Time{}
		_ = raw.SetReadDeadline(time.Time{}) // fails on a closed connection only
	}
}

// start puts the deadline back, moved by the time that it was not counted down.
func (r *readClock) start(raw net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped.IsZero() {
		return
	}
	if !r.due.IsZero() {
		from := r.stopped
		if r.setAt.After(from) {
			from = r.setAt
		}
		r.due = r.due.Add(time.Since(from))
	}
	r.stopped = time.Time{}
	_ = raw.SetReadDeadline(r.due) // fails on a closed connection only
}

// wait returns nil when the hold is over, the connection done, or the deadline
// changed, and an error when a running clock has reached it.
func (r *readClock) wait(h *hold, done <-chan struct{}) error {
	r.mu.Lock()
	if r.changed == nil {
		r.changed = make(chan struct{})
	}
	changed, due, running := r.changed, r.due, r.stopped.IsZero()
	r.mu.Unlock()
	var late <-chan time.Time
	if running && !due.IsZero() {
		t := time.NewTimer(time.Until(due))
		defer t.Stop()
		late = t.C
	}
	select {
	case <-h.over:
	case <-done:
	case <-changed:
	case <-late:
		return os.ErrDeadlineExceeded
	}
	return nil
}
