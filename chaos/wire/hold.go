package wire

import "errors"

// HoldMode says what the client notices of a hold.
type HoldMode int

// The modes of a hold.
const (
	// Stall is a network that carries nothing: the client's read deadlines fire,
	// go-zookeeper's after two thirds of the session timeout, and dials time out.
	Stall HoldMode = iota
	// Deaf is a paused client: the clock of its read deadlines stands still, and
	// it learns nothing until the hold ends. To the servers, a process that is swapped
	// out, stopped or collecting garbage does the same.
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
// accepted and queued, its reads block. Connections stay up, so a server notices only
// the silence. A connection that the client closes meanwhile is closed for the
// server too, and what was queued on it is gone. A client that is held already is
// ErrHeld.
func (c *client) Hold(mode HoldMode) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold != nil {
		return ErrHeld
	}
	c.hold = &hold{mode: mode, over: make(chan struct{})}
	if mode == Deaf {
		for k := range c.conns {
			k.clock.stop(k.Conn)
		}
	}
	return nil
}

// Thaw ends a hold: everything that was kept back is delivered in order, ahead
// of what comes after. It does not wait for that. Without a hold it does nothing.
func (c *client) Thaw() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold == nil {
		return
	}
	close(c.hold.over)
	c.hold = nil
	for k := range c.conns {
		k.clock.start(k.Conn)
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
		if err := k.clock.wait(h.over, k.done); err != nil {
			return err
		}
	}
}
