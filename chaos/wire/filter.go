package wire

import (
	"errors"
	"slices"
	"sync"
	"time"
)

type decision uint8

const (
	undecided decision = iota
	pass
	drop
	keep // the frame and all later frames wait
)

// filter passes or drops whole frames of one direction, so that the stream stays aligned. The bytes
// of a frame wait until its head is complete.
type filter struct {
	scan     scanner
	opened   bool // the handshake was seen
	kept     []byte
	decision decision // of the current frame
}

// busy reports whether the next bytes must go through run.
func (f *filter) busy() bool { return len(f.kept) > 0 || f.decision == drop && f.scan.inFrame() }

// run processes the next bytes. If hasRules is set, decide returns the decision for each frame that begins here,
// once its head is complete; otherwise all frames pass. decide is called for each mark of the
// scanner; its result counts only if free is true. emit receives the bytes that pass, valid only
// for the call. run returns the bytes from a kept frame on; the caller must pass them to run again.
func (f *filter) run(p []byte, hasRules bool, decide func(m mark, free bool) decision, emit func([]byte)) (kept []byte) {
	if !hasRules && len(f.kept) > 0 {
		emit(f.kept)
		f.kept, f.decision = f.kept[:0], pass
	}
	for len(p) > 0 {
		if f.decision == undecided && len(f.kept) == 0 && (!hasRules || f.scan.inFrame()) {
			f.decision = pass // the frame began while bytes passed unchanged
		}
		n, m := f.scan.next(p)
		chunk := p[:n]
		p = p[n:]
		isUndecided := f.decision == undecided
		if decision := decide(m, isUndecided); isUndecided && m != 0 {
			f.decision = decision
		}
		if f.scan.unparsable {
			f.decision = pass
		}
		if isUndecided {
			f.kept = append(f.kept, chunk...)
			chunk = f.kept
		}
		if f.decision == undecided {
			continue
		}
		if f.decision == keep {
			kept = slices.Concat(f.kept, p)
			f.kept, f.decision, f.scan.got = f.kept[:0], undecided, 0
			return kept
		}
		if f.decision == pass {
			emit(chunk)
		}
		f.kept = f.kept[:0]
		if m&atEnd != 0 {
			f.decision = undecided
		}
	}
	return nil
}

var ErrHeld = errors.New("the client is already held")

// Hold keeps all bytes back, in both directions, until EndHold: the client's writes are accepted and
// queued, its reads block, and its read deadlines do not expire. To the servers the client looks like a
// process that is swapped out, stopped or collecting garbage. Connections stay open, so a server notices
// only the silence. A connection that the client closes in the meantime is closed for the server too, and
// its queued bytes are dropped. It returns ErrHeld if the client is already held.
func (c *client) Hold() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold != nil {
		return ErrHeld
	}
	c.hold = make(chan struct{})
	for k := range c.conns {
		k.clock.stop(k.Conn)
	}
	return nil
}

// EndHold ends a hold, if any: what was kept back is delivered before later bytes. It does not wait for that.
func (c *client) EndHold() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.hold == nil {
		return
	}
	close(c.hold)
	c.hold = nil
	for k := range c.conns {
		k.clock.start(k.Conn)
		if len(k.queue) > 0 {
			go k.flush() // ends at the latest with the connection
		}
	}
}

// awaitHoldEnd waits until the client is not held. It returns an error if the connection has ended.
func (k *conn) awaitHoldEnd() error {
	for {
		k.c.mu.Lock()
		hold, ended := k.c.hold, k.endErr
		k.c.mu.Unlock()
		if ended != nil || hold == nil {
			return ended
		}
		select {
		case <-hold:
		case <-k.done:
		}
	}
}

type FrameKind int

const (
	RequestFrame FrameKind = iota
	ReplyFrame
	NotificationFrame
)

// Frame is a frame that a client has sent or received.
type Frame struct {
	At   time.Duration
	Kind FrameKind
	Op   Op
	Path string // of a request or a notification; at most 1024 bytes
	Code int32  // of a reply: its error code
}

// Transcript records the frames of a client's connections, without handshakes.
type Transcript struct {
	mu     sync.Mutex
	frames []Frame
}

func (t *Transcript) add(f Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, f)
}

func (t *Transcript) Frames() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames)
}

// Record starts a transcript of the client's connections, for short episodes: it needs memory for each frame.
func (c *client) Record() *Transcript {
	t := &Transcript{}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.transcript = t
	return t
}
