package recipes

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// link is one connection of a session. It reads along to learn what
// go-zookeeper does not tell: the negotiated timeout, the password, when the
// servers last acknowledged something, and above all whether this is still the
// same session. That is decided here, before go-zookeeper sees the bytes, because
// it would otherwise run requests of the old session in a new one.
type link struct {
	net.Conn
	s *Session

	// go-zookeeper reads the length of a frame and then the frame: two system calls
	// each, of which the buffer makes one for all that has come.
	buffered *bufio.Reader

	// Written by go-zookeeper's send loop, read by its receive loop.
	mu   sync.Mutex
	sent []sent // frames that wait for their reply, oldest first

	out, in   cursor
	shook     bool // the connect response has been read
	sentFirst bool // the connect request has been written
}

// sent is a frame on its way.
type sent struct {
	at     time.Time
	xid    int32   // 0 for the connect request
	write  bool    // the answer takes a quorum; a session is resumed without one, by a leader that was deposed
	flight *flight // of the create that it is, where somebody waits for it; or nil
}

const (
	opCreate  = 1
	opDelete  = 2
	opSetData = 5
	opMulti   = 14

	xidNotification = -1

	requestHead = 4 + 4     // xid, opcode
	replyHead   = 4 + 8 + 4 // xid, zxid, error
	// protocol version, timeout, session id, password length, password
	connectResponseHead = 4 + 4 + 8 + 4 + 16

	readAhead = 4 << 10 // bytes; longer replies are read straight into go-zookeeper's buffer
)

func newLink(c net.Conn, s *Session) *link {
	// Told by the length alone: go-zookeeper reads no further if it is too long.
	return &link{Conn: c, s: s, buffered: bufio.NewReaderSize(c, readAhead), in: cursor{begins: s.replyLength}}
}

// Write notes the send time of every frame, then writes.
func (l *link) Write(b []byte) (int, error) {
	now := time.Now()
	var f *flight
	if l.sentFirst {
		f = l.s.flightOf(createPath(b))
	}
	l.mu.Lock()
	l.out.walk(b, requestHead, func(_ int, head []byte) {
		one := sent{at: now, flight: f}
		if l.sentFirst && len(head) == requestHead {
			one.xid = int32(binary.BigEndian.Uint32(head))
			one.write = writes(int32(binary.BigEndian.Uint32(head[4:])))
		}
		l.sent = append(l.sent, one)
		l.sentFirst = true
	})
	l.mu.Unlock()
	n, err := l.Conn.Write(b)
	if err != nil {
		return n, fmt.Errorf("%w: %w", ErrConnectionLost, err) // go-zookeeper hands it to the caller as it is
	}
	if f != nil {
		close(f.written)
	}
	return n, nil
}

// writes tells whether requests with this opcode go through the leader. Other writes
// than these a Session does not make.
func writes(op int32) bool {
	return op == opCreate || op == opDelete || op == opSetData || op == opMulti
}

// createPath returns the path of the create request that b is, nil if it is none.
// go-zookeeper writes every request at once.
func createPath(b []byte) []byte {
	const body = 4 + requestHead
	if len(b) < body+4 || int32(binary.BigEndian.Uint32(b[8:])) != opCreate {
		return nil
	}
	n := int(int32(binary.BigEndian.Uint32(b[body:])))
	if n < 0 || n > len(b)-body-4 {
		return nil
	}
	return b[body+4 : body+4+n]
}

// Read reads, and learns from what it read.
func (l *link) Read(b []byte) (int, error) {
	n, err := l.buffered.Read(b)
	if n > 0 {
		want := replyHead
		if !l.shook {
			want = connectResponseHead
		}
		l.in.walk(b[:n], want, l.received)
	}
	return n, err
}

// received handles the head of one frame from the server.
func (l *link) received(_ int, head []byte) {
	if !l.shook {
		l.shook = true
		l.in.want = replyHead // of what has come in the same chunk
		l.handshake(head)
		return
	}
	if len(head) < replyHead {
		return
	}
	if xid := int32(binary.BigEndian.Uint32(head)); xid != xidNotification {
		l.acknowledged(xid, int64(binary.BigEndian.Uint64(head[4:])))
	}
}

// handshake reads the connect response: a zero or different session id means
// that our session is gone.
func (l *link) handshake(head []byte) {
	if len(head) < 16 {
		return
	}
	timeout := time.Duration(int32(binary.BigEndian.Uint32(head[4:]))) * time.Millisecond
	id := int64(binary.BigEndian.Uint64(head[8:]))
	var password []byte
	if len(head) == connectResponseHead {
		password = append(password, head[20:]...)
	}
	if l.s.admit(id, password, timeout) {
		l.acknowledged(0, 0)
		return
	}
	l.drop() // go-zookeeper does not close the connection of an expired session
}

// drop closes the connection, from within Read: nothing that has been read ahead
// counts any more.
func (l *link) drop() {
	l.Conn.Close()
	l.buffered.Reset(l.Conn)
}

// acknowledged moves the session's deadline: the frame with that xid was heard by
// the servers. Replies come in order, so a reply to a frame that is not the oldest
// means that one before it was lost, and whoever waits for that would wait for ever:
// the connection is no good any more.
//
// The reply to a write carries the zxid of the transaction that it
// made: the server applies one transaction after the other, and builds the reply to
// each before it applies the next (FinalRequestProcessor).
func (l *link) acknowledged(xid int32, zxid int64) {
	l.mu.Lock()
	if len(l.sent) == 0 || l.sent[0].xid != xid {
		l.mu.Unlock()
		l.drop()
		return
	}
	one := l.sent[0]
	l.sent = slices.Delete(l.sent, 0, 1)
	l.mu.Unlock()
	if one.flight != nil {
		one.flight.zxid = zxid // go-zookeeper's reply to the create's caller comes after this
	}
	l.s.heard(one.at, one.write)
}

// SetReadDeadline shortens go-zookeeper's patience for the connect response,
// which is 6.7 session timeouts, to what it grants every other reply.
func (l *link) SetReadDeadline(t time.Time) error {
	if !l.shook && !t.IsZero() {
		if soon := time.Now().Add(l.s.timeout() * 2 / 3); soon.Before(t) {
			t = soon
		}
	}
	return l.Conn.SetReadDeadline(t)
}

// cursor walks a stream of length-prefixed frames that arrives in any chunks and
// hands out the first bytes of each frame.
type cursor struct {
	begins func(length int) // called for every frame once its length is there; may be nil

	buf  [4 + connectResponseHead]byte // length, then the head of the body
	got  int                           // bytes in buf
	want int                           // head bytes wanted of this frame
	skip int                           // bytes of this frame still to pass over
}

// walk consumes b. For every frame whose first head bytes are complete it calls
// got with the length of the frame and those bytes (fewer if the frame is shorter).
func (c *cursor) walk(b []byte, head int, got func(length int, head []byte)) {
	c.want = head
	for len(b) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(b))
			c.skip -= n
			b = b[n:]
			continue
		}
		known := c.got >= 4
		b = c.fill(b, 4)
		if c.got < 4 {
			return
		}
		length := int(binary.BigEndian.Uint32(c.buf[:4]))
		if !known && c.begins != nil {
			c.begins(length)
		}
		end := 4 + min(length, c.want)
		b = c.fill(b, end)
		if c.got < end {
			return
		}
		c.skip = length - (end - 4)
		c.got = 0
		got(length, c.buf[4:end])
	}
}

// fill moves bytes from b to the buffer until that holds n, and returns the rest of b.
func (c *cursor) fill(b []byte, n int) []byte {
	if c.got >= n {
		return b
	}
	k := copy(c.buf[c.got:n], b)
	c.got += k
	return b[k:]
}
