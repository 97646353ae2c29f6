package wire

import "errors"

// HoldMode selects how the client perceives a hold.
type HoldMode int

// The modes of a hold.
const (
	// Stall is a network without traffic: the client's read deadlines expire, go-zookeeper's after
	// two thirds of the session timeout, and dials time out.
	Stall HoldMode = iota
	// Deaf is a paused client: its read deadlines do not expire, and it receives nothing until the
	// hold ends. To the servers it looks like a process that is swapped out, stopped or collecting
	// garbage.
	Deaf
)

// ErrHeld means that the client is already held.
var ErrHeld = errors.New("the client is held already")

// hold is an active hold.
type hold struct {
	mode HoldMode
	over chan struct{} // closed at its end
}

// Hold keeps all bytes back, in both directions, until Thaw: the client's writes are accepted and
// queued, its reads block. Connections stay open, so a server notices only the silence. A
// connection that the client closes in the meantime is closed for the server too, and its queued bytes
// are dropped. It returns ErrHeld if the client is already held.
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

// Thaw ends a hold: everything that was kept back is delivered in order, before later bytes. It
// does not wait for that. Without a hold it does nothing.
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
			go k.flush() // ends at the latest with the connection
		}
	}
}

// awaitThaw waits until the client is not held. It returns an error if there is nothing more to
// read or, in a stall, the read deadline has passed.
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
