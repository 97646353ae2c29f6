package wire

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// A frame is a length (int32) and a body of that many bytes. The first frame of a
// connection is a ConnectRequest or its reply. Every later body begins with a header:
// xid and opcode in a request; xid, zxid (int64) and error code in a reply.

// readLimit bounds the bodies that readFrame accepts: replies to ConnectRequest and closeSession are short.
const readLimit = 1 << 10

// readFrame reads one short frame and returns its body. A body shorter than least is an error.
func readFrame(r io.Reader, least int) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(size[:])
	if int(n) < least || n > readLimit {
		return nil, fmt.Errorf("got a frame of %d bytes, expected %d to %d", n, least, readLimit)
	}
	body := make([]byte, n)
	_, err := io.ReadFull(r, body)
	return body, err
}

// encode returns the frame with these fields in its body: numbers, and bytes after their length.
func encode(fields ...any) []byte {
	b := make([]byte, 4, 64)
	for _, f := range fields {
		if p, ok := f.([]byte); ok {
			b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		}
		b, _ = binary.Append(b, binary.BigEndian, f) // fails only for types without a fixed size
	}
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// connectRequest returns the frame that makes a connection part of the session. The protocol's version
// and the last seen zxid are 0, so that a server that lags behind accepts it too. The timeout is as
// negotiated, which changes nothing.
func connectRequest(s Session) []byte {
	return encode(int32(0), int64(0), int32(s.Timeout.Milliseconds()), s.ID, s.Password, false)
}

const closeXid = 1

func closeRequest() []byte { return encode(int32(closeXid), CloseSession) }

func int32At(b []byte, at int) int32 { return int32(binary.BigEndian.Uint32(b[at:])) }
func int64At(b []byte, at int) int64 { return int64(binary.BigEndian.Uint64(b[at:])) }

// bytesAt returns the length-prefixed bytes at that offset, truncated at the end of b, which it
// aliases. A negative length is jute's null.
func bytesAt(b []byte, at int) []byte {
	if at+4 > len(b) {
		return nil
	}
	n := int(int32At(b, at))
	if n <= 0 {
		return nil
	}
	b = b[at+4:]
	return b[:min(n, len(b))]
}

func wholePath(b []byte, at int) (path string, ok bool) {
	path = string(bytesAt(b, at))
	return path, at+4 <= len(b) && len(path) == int(int32At(b, at))
}

// pathIn returns the path in a request's head; for a multi, that of its first operation. It aliases head.
func pathIn(head []byte, op Op) []byte {
	at := opcodes[op.slot()].path
	if at == 0 {
		return nil
	}
	p := bytesAt(head, at)
	return p[:min(len(p), pathLimit)]
}

const (
	// frameLimit is the longest valid frame. ZooKeeper's own limit is 1 MiB by default for frames that it
	// reads, and unlimited for frames that it sends. ASCII, such as a four-letter word, reads as a length
	// above 1 GiB.
	frameLimit = 64 << 20
	pathLimit  = 1 << 10
	headLimit  = multiPathOffset + 4 + pathLimit
)

type mark uint8

const (
	atHead mark = 1 << iota
	atEnd
	gaveUp
)

type extent struct {
	least int // minimum length of the body
	head  int // length of the head
}

// Extents for a connection's first frame and for all others.
var (
	requestExtents = [2]extent{{28, 44}, {8, headLimit}} // ConnectRequest; header and path
	replyExtents   = [2]extent{{20, 36}, {16, 284}}      // ConnectResponse; header, and a notification with its path
)

// scanner finds the frames in the bytes of one direction of a connection, which come in pieces of
// any size. It keeps only the head and the last 8 bytes of the current frame.
type scanner struct {
	extents    *[2]extent
	size       [4]byte
	got        int // bytes of the length received; 0 between frames
	body       int // length of the frame's body
	seen       int // bytes of the body received
	have       int // bytes of the body in buf
	later      int // 0 in a connection's first frame, then 1
	unparsable bool
	tail       [8]byte
	head       []byte // after atHead
	buf        []byte // for a head that comes in pieces
}

func (s *scanner) inFrame() bool { return s.got > 0 }

// next scans p until a frame's head or the frame is complete, or p ends. It returns the number of scanned bytes.
func (s *scanner) next(p []byte) (int, mark) {
	if s.unparsable {
		return len(p), 0
	}
	n := 0
	if s.got < len(s.size) {
		if n = s.length(p); s.unparsable {
			return n, gaveUp
		}
		if s.got < len(s.size) {
			return n, 0
		}
	}
	var m mark
	if need := min(s.body, s.extents[s.later].head); s.have < need {
		if s.have == 0 && len(p)-n >= need { // usually: no copy
			s.head = p[n : n+need : n+need]
			s.keepTail(s.head)
			s.have, s.seen, n = need, need, n+need
		} else {
			if s.buf == nil {
				s.buf = make([]byte, s.extents[1].head+s.extents[0].head)
			}
			c := copy(s.buf[s.have:need], p[n:])
			s.keepTail(p[n : n+c])
			s.have, s.seen, n = s.have+c, s.seen+c, n+c
			if s.have < need {
				return n, 0
			}
			s.head = s.buf[:need]
		}
		m = atHead
	} else {
		c := min(len(p)-n, s.body-s.seen)
		s.keepTail(p[n : n+c])
		s.seen, n = s.seen+c, n+c
	}
	if s.seen == s.body {
		s.got, s.later = 0, 1
		m |= atEnd
	}
	return n, m
}

// keepTail stores the bytes of p, the next part of the body, that belong to the body's last 8.
func (s *scanner) keepTail(p []byte) {
	at := s.seen - (s.body - len(s.tail)) // of p in the tail
	if at+len(p) <= 0 {
		return
	}
	if at < 0 {
		p, at = p[-at:], 0
	}
	copy(s.tail[at:], p)
}

// length reads a frame's length, or the available part, from p.
func (s *scanner) length(p []byte) int {
	if s.got == 0 {
		s.seen, s.have = 0, 0
	}
	n := copy(s.size[s.got:], p)
	s.got += n
	if s.got == len(s.size) {
		s.body = int(int32(binary.BigEndian.Uint32(s.size[:])))
		s.unparsable = s.body < s.extents[s.later].least || s.body > frameLimit
	}
	return n
}

// readClock is a connection's read deadline, with a clock that can be stopped.
type readClock struct {
	mu      sync.Mutex
	due     time.Time     // the deadline as the client set it; zero: no deadline
	setAt   time.Time     // when due was set, if the clock was stopped
	stopped time.Time     // when the clock was stopped; zero: the clock runs
	changed chan struct{} // closed when due or stopped changes; nil without a waiter
}

// wake makes wait return. The caller holds mu.
func (r *readClock) wake() {
	if r.changed != nil {
		close(r.changed)
		r.changed = nil
	}
}

func (r *readClock) set(raw net.Conn, t time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due = t
	r.wake()
	if !r.stopped.IsZero() {
		r.setAt = time.Now()
		return nil
	}
	return raw.SetReadDeadline(t)
}

func (r *readClock) stop(raw net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stopped.IsZero() {
		r.stopped, r.setAt = time.Now(), time.Time{}
		r.wake()
		_ = raw.SetReadDeadline(time.Time{})
	}
}

// start restores the deadline, moved by the time for which the clock was stopped.
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
	r.wake()
	_ = raw.SetReadDeadline(r.due)
}

// wait returns nil when over or done is closed, the deadline has changed, or the clock was stopped or started, and an
// error when a running clock has reached the deadline.
func (r *readClock) wait(over, done <-chan struct{}) error {
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
	case <-over:
	case <-done:
	case <-changed:
	case <-late:
		return os.ErrDeadlineExceeded
	}
	return nil
}

type pendingRequest struct {
	xid   int32
	op    Op
	at    time.Duration
	armed *armedRule // a rule that waits for the reply, or nil

	flags   int32 // of a create
	removes int64 // czxid of the session's node that a delete is for; 0 if unknown
}

// inflight is a connection's requests without replies, oldest first.
type inflight []pendingRequest

// find returns the position of the oldest request with that xid, or -1. ZooKeeper replies in order, so it
// is nearly always the first request; but auth overtakes queued requests, and pings share one xid.
func (q inflight) find(xid int32) int {
	return slices.IndexFunc(q, func(s pendingRequest) bool { return s.xid == xid })
}

// remove removes the request at that position. The capacity stays, so that a request costs no allocation.
func (q *inflight) remove(i int) { *q = slices.Delete(*q, i, i+1) }
