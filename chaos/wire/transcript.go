package wire

import (
	"slices"
	"sync"
	"time"
)

// FrameKind is what a frame is.
type FrameKind int

// The kinds of frame in a transcript. Handshakes are not in it.
const (
	RequestFrame FrameKind = iota
	ReplyFrame
	NotificationFrame
)

// Frame is one frame that a client has sent, or that has reached it.
type Frame struct {
	At   time.Duration // on the run's clock
	Kind FrameKind
	Op   Op     // of the request, also of the one that is answered; Notified
	Path string // of a request or a notification; at most 1024 bytes
	Code int32  // of a reply: its error code
}

// Transcript is what went over a client's connections, frame by frame.
type Transcript struct {
	mu     sync.Mutex
	frames []Frame
}

func (t *Transcript) add(f Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, f)
}

// Frames returns the frames so far, in their order.
func (t *Transcript) Frames() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames)
}

// Record begins a new transcript of all that goes over the client's connections from now
// on. It costs memory for each frame: it is for short episodes.
func (c *client) Record() *Transcript {
	t := &Transcript{}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script = t
	return t
}
