package recipes

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"
)

// link is one connection of a session. It reads along to learn what go-zookeeper keeps
// to itself: the negotiated timeout, when the servers last acknowledged something, the
// zxid of a create, and above all whether this is still the same session. That is
// decided here, before go-zookeeper sees the bytes, because it would otherwise run
// requests of the old session in a new one.
//
// So it has to know the heads of ZooKeeper's frames. chaos/wire knows the whole frames,
// but a recipe must work without what goes wrong around it, and may not import that.
type link struct {
	net.Conn
	s *Session

	// go-zookeeper reads the length of a frame and then the frame: two system calls
	// each, of which the buffer makes one for all that has come.
	buffered *bufio.Reader
	left     int  // bytes of the present frame that go-zookeeper has not read yet
	shook    bool // the connect response has been read

	// Written by go-zookeeper's send loop, read by its receive loop.
	mu   sync.Mutex
	sent []sent // frames that wait for their reply, oldest first

	sentFirst bool // the connect request has been written; go-zookeeper's writes come one by one
}

type sent struct {
	at     time.Time
	xid    int32       // 0 for the connect request
	write  bool        // the answer takes a quorum; a leader that was deposed lets a session continue without one
	create *sentCreate // nil unless somebody waits for it
}

const (
	opCreate  = 1
	opDelete  = 2
	opSetData = 5
	opMulti   = 14

	xidNotification = -1

	lengthSize          = 4
	requestHead         = 4 + 4     // xid, opcode
	replyHead           = 4 + 8     // xid, zxid
	connectResponseHead = 4 + 4 + 8 // protocol version, timeout, session id

	readAhead = 1 << 10 // bytes; longer replies are read straight into go-zookeeper's buffer
)

var errOutOfOrder = errors.New("a reply that is not the oldest request's: one was lost")

func newLink(c net.Conn, s *Session) *link {
	return &link{Conn: c, s: s, buffered: bufio.NewReaderSize(c, readAhead)}
}

// Write notes when the request is sent, then writes. go-zookeeper writes every request
// at once.
func (l *link) Write(b []byte) (int, error) {
	one := sent{at: time.Now()}
	if l.sentFirst && len(b) >= lengthSize+requestHead {
		one.xid = int32(binary.BigEndian.Uint32(b[4:]))
		op := binary.BigEndian.Uint32(b[8:])
		// Other writes than these a Session does not make.
		one.write = op == opCreate || op == opDelete || op == opSetData || op == opMulti
		if path := createPath(b); path != nil {
			one.create = l.s.takeCreate(path)
		}
	}
	l.sentFirst = true
	l.mu.Lock()
	l.sent = append(l.sent, one)
	l.mu.Unlock()
	n, err := l.Conn.Write(b)
	if err != nil {
		return n, fmt.Errorf("%w: %w", ErrConnectionLost, err) // the caller gets it from go-zookeeper as it is
	}
	if one.create != nil {
		close(one.create.written)
	}
	return n, nil
}

// createPath returns the path of the create request that b is, nil if it is none.
func createPath(b []byte) []byte {
	const body = lengthSize + requestHead
	if len(b) < body+4 || binary.BigEndian.Uint32(b[8:]) != opCreate {
		return nil
	}
	n := int(int32(binary.BigEndian.Uint32(b[body:])))
	if n < 0 || n > len(b)-body-4 {
		return nil
	}
	return b[body+4 : body+4+n]
}

// Read reads from one frame at a time, whose head it has understood before. It closes
// a connection that cannot go on.
func (l *link) Read(b []byte) (int, error) {
	if l.left == 0 {
		if err := l.nextFrame(); err != nil {
			l.Conn.Close()
			return 0, err
		}
	}
	n, err := l.buffered.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

// nextFrame waits for the head of the next frame and learns from it.
func (l *link) nextFrame() error {
	b, err := l.buffered.Peek(lengthSize)
	if err != nil {
		return err
	}
	length := int(binary.BigEndian.Uint32(b))
	if limit := l.s.options.MaxPacket; length > limit {
		// go-zookeeper would drop the connection and meet the same reply again, for ever.
		l.s.end(fmt.Errorf("a reply of %d bytes exceeds MaxPacket (%d): raise it", length, limit))
		return l.s.Err()
	}
	want := replyHead
	if !l.shook {
		want = connectResponseHead
	}
	b, err = l.buffered.Peek(lengthSize + min(length, want))
	if err != nil {
		return err
	}
	l.left = lengthSize + length
	head := b[lengthSize:]
	switch {
	case len(head) < want:
		return nil // go-zookeeper will say what is wrong with it
	case !l.shook:
		l.shook = true
		return l.handshake(head)
	}
	if xid := int32(binary.BigEndian.Uint32(head)); xid != xidNotification {
		return l.acknowledged(xid, int64(binary.BigEndian.Uint64(head[4:])))
	}
	return nil
}

// handshake reads the connect response: a zero or different session id means
// that our session is gone.
func (l *link) handshake(head []byte) error {
	timeout := time.Duration(int32(binary.BigEndian.Uint32(head[4:]))) * time.Millisecond
	if !l.s.admit(int64(binary.BigEndian.Uint64(head[8:])), timeout) {
		return l.s.Err()
	}
	return l.acknowledged(0, 0)
}

// acknowledged moves the session's deadline: the servers have heard the frame with that
// xid. Replies come in order, so a reply to a frame that is not the oldest means that
// one before it was lost, and whoever waits for that would wait for ever.
//
// The reply to a write carries the zxid of the transaction that it made: the server
// applies one transaction after the other, and builds the reply to each before it
// applies the next (FinalRequestProcessor).
func (l *link) acknowledged(xid int32, zxid int64) error {
	l.mu.Lock()
	if len(l.sent) == 0 || l.sent[0].xid != xid {
		l.mu.Unlock()
		return errOutOfOrder
	}
	one := l.sent[0]
	l.sent = slices.Delete(l.sent, 0, 1)
	l.mu.Unlock()
	if one.create != nil {
		one.create.zxid = zxid // go-zookeeper answers the create's caller after this
	}
	l.s.heard(one.at, one.write)
	return nil
}

// SetWriteDeadline is called before every write, and after it with the zero time, when
// nothing that go-zookeeper's buffer has is needed any more.
func (l *link) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		l.s.makeRoom()
	}
	return l.Conn.SetWriteDeadline(t)
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
