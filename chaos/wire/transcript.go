package wire

import (
	"slices"
	"sync"
	"time"
)

// FrameKind is the type of a frame.
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

// Transcript records the frames of a client's connections. Handshakes are not in it.
type Transcript struct {
	mu     sync.Mutex
	frames []Frame
}

func (t *Transcript) add(f Frame) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.frames = append(t.frames, f)
}

// Frames returns the frames so far, in order.
func (t *Transcript) Frames() []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.frames)
}

// Record starts a new transcript of the client's connections. It needs memory for each frame: it is
// for short episodes.
func (c *client) Record() *Transcript {
	t := &Transcript{}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.script = t
	return t
}
