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

// link is a connection of a session. It parses the traffic for data that go-zookeeper does not expose: the
// negotiated timeout, the time of the last acknowledged frame, the zxid of a create, and whether this is
// still the same session. The link checks the session before go-zookeeper reads the bytes, because
// go-zookeeper would otherwise send requests of the old session in a new one.
//
// It parses only the heads of ZooKeeper's frames. chaos/wire parses whole frames, but a recipe must not
// depend on the fault injection.
type link struct {
	net.Conn
	s *Session

	// go-zookeeper reads the length of a frame and then the frame, with two system calls; the
	// buffer reads all received data with one.
	buffered      *bufio.Reader
	left          int  // bytes of the current frame that go-zookeeper has not read yet
	handshakeDone bool // the connect response has been read

	// Written by go-zookeeper's send loop, read by its receive loop.
	mu   sync.Mutex
	sent []sentFrame // frames that wait for their reply, oldest first

	sentFirst bool // the connect request has been written; go-zookeeper's writes are serialized
}

type sentFrame struct {
	at     time.Time
	xid    int32       // 0 for the connect request
	auth   bool        // its reply does not wait for the replies to earlier requests
	write  bool        // its reply requires a quorum, unlike the resumption of a session
	create *sentCreate // nil unless the create is expected
}

const (
	opCreate  = 1
	opDelete  = 2
	opSetData = 5
	opMulti   = 14
	opAuth    = 100

	xidNotification = -1

	lengthSize          = 4
	requestHead         = 4 + 4     // xid, opcode
	replyHead           = 4 + 8     // xid, zxid
	connectResponseHead = 4 + 4 + 8 // protocol version, timeout, session id

	readAhead = 1 << 10 // bytes; longer replies are read directly into go-zookeeper's buffer
)

var errOutOfOrder = errors.New("a reply does not belong to the oldest pending request: an earlier reply was lost")

func newLink(c net.Conn, s *Session) *link {
	return &link{Conn: c, s: s, buffered: bufio.NewReaderSize(c, readAhead)}
}

// Write records the request and its time, then writes it. go-zookeeper writes each request with one call.
func (l *link) Write(b []byte) (int, error) {
	one := sentFrame{at: time.Now()}
	if l.sentFirst && len(b) >= lengthSize+requestHead {
		one.xid = int32(binary.BigEndian.Uint32(b[4:]))
		op := binary.BigEndian.Uint32(b[8:])
		one.auth = op == opAuth
		// A Session makes no other writes.
		one.write = op == opCreate || op == opDelete || op == opSetData || op == opMulti
		if path := createPath(b); path != nil {
			one.create = l.s.takeCreate(string(path))
		}
	}
	l.sentFirst = true
	l.mu.Lock()
	l.sent = append(l.sent, one)
	l.mu.Unlock()
	n, err := l.Conn.Write(b)
	if err != nil {
		return n, fmt.Errorf("%w: %w", ErrConnectionLost, err) // go-zookeeper passes it to the caller unchanged
	}
	if one.create != nil {
		close(one.create.written)
	}
	return n, nil
}

// createPath returns the path if b is a create request, otherwise nil.
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

// Read reads from one frame at a time, whose head it has parsed. It closes the connection if that fails.
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

func (l *link) nextFrame() error {
	b, err := l.buffered.Peek(lengthSize)
	if err != nil {
		return err
	}
	length := int(binary.BigEndian.Uint32(b))
	if limit := l.s.options.MaxPacket; length > limit {
		// go-zookeeper would drop the connection and receive the same reply again, forever.
		l.s.end(fmt.Errorf("a reply of %d bytes exceeds MaxPacket (%d): raise MaxPacket", length, limit))
		return l.s.Err()
	}
	want := replyHead
	if !l.handshakeDone {
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
		return nil // go-zookeeper will report the error
	case !l.handshakeDone:
		l.handshakeDone = true
		timeout := time.Duration(int32(binary.BigEndian.Uint32(head[4:]))) * time.Millisecond
		if !l.s.admit(int64(binary.BigEndian.Uint64(head[8:])), timeout) {
			return l.s.Err()
		}
		return l.recordReply(0, 0)
	}
	if xid := int32(binary.BigEndian.Uint32(head)); xid != xidNotification {
		return l.recordReply(xid, int64(binary.BigEndian.Uint64(head[4:])))
	}
	return nil
}

// recordReply extends the session's deadline: the servers have replied to the frame with that xid.
// Replies come in order, so a reply to a frame that is not the oldest means that an earlier one was
// lost, and its caller would wait forever. The exception is auth: the server answers it at once
// (ZooKeeperServer.processPacket) and queues other requests.
//
// The reply to a write has the zxid of its transaction: the server applies one transaction after
// the other, and builds the reply to each before it applies the next (FinalRequestProcessor).
func (l *link) recordReply(xid int32, zxid int64) error {
	l.mu.Lock()
	i := slices.IndexFunc(l.sent, func(s sentFrame) bool { return s.xid == xid })
	if i < 0 || i > 0 && !l.sent[i].auth {
		l.mu.Unlock()
		return errOutOfOrder
	}
	one := l.sent[i]
	l.sent = slices.Delete(l.sent, i, i+1)
	l.mu.Unlock()
	if one.create != nil {
		one.create.zxid = zxid // go-zookeeper answers the create's caller after this
	}
	l.s.recordAck(one.at, one.write)
	return nil
}

// SetWriteDeadline is called before every write, and after the write with the zero time, when the
// content of go-zookeeper's buffer is no longer needed.
func (l *link) SetWriteDeadline(t time.Time) error {
	if t.IsZero() {
		l.s.growBuffer()
	}
	return l.Conn.SetWriteDeadline(t)
}

// SetReadDeadline shortens go-zookeeper's limit for the connect response, 6.7 session timeouts, to its
// limit for other replies, 2/3 of a session timeout.
func (l *link) SetReadDeadline(t time.Time) error {
	if !l.handshakeDone && !t.IsZero() {
		if soon := time.Now().Add(l.s.timeout() * 2 / 3); soon.Before(t) {
			t = soon
		}
	}
	return l.Conn.SetReadDeadline(t)
}

// admit reports whether a connect response continues this session, and otherwise ends the session. An ID
// of 0 means that the session expired; an ID other than our own would be another session.
func (s *Session) admit(id int64, timeout time.Duration) bool {
	s.mu.Lock()
	if id == 0 || (s.id != 0 && s.id != id) {
		s.mu.Unlock()
		s.end(errExpired)
		return false
	}
	s.id, s.negotiated = id, timeout
	s.mu.Unlock()
	return true
}

func (s *Session) timeout() time.Duration { s.mu.Lock(); defer s.mu.Unlock(); return s.negotiated }

func (s *Session) recordAck(sent time.Time, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if write && sent.After(s.lastWrite) {
		s.lastWrite = sent
	}
	if !sent.After(s.lastHeard) || s.state == ended {
		return
	}
	s.lastHeard = sent
	if s.deadlineTimer == nil {
		s.deadlineTimer = time.AfterFunc(time.Until(s.expiry()), s.checkDeadline)
	}
}

// expiry returns the earliest instant at which the servers can have expired the session: the send time of
// the last acknowledged request or ping plus the negotiated timeout. The caller holds mu.
func (s *Session) expiry() time.Time { return s.lastHeard.Add(s.negotiated) }

// checkDeadline ends the session if it may have expired, or else resets the timer, which replies do not move.
func (s *Session) checkDeadline() {
	s.mu.Lock()
	left := time.Until(s.expiry())
	if left > 0 && s.state != ended {
		s.deadlineTimer.Reset(left)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.end(errDeadline)
}

// confirmed reports whether it is certain that the leader has not expired the session: a write that was
// sent within the last session timeout was answered. Answers to pings and reads prove nothing. They come
// from the session's member, which continues to answer while it is isolated from the others, for
// syncLimit ticks, which may be far more than a session timeout. When it reconnects to them, it may
// first report that the preceding node was deleted, and only then that this session expired long ago.
func (s *Session) confirmed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastWrite) < s.negotiated
}

// sentCreate is a create in progress, for which the link records data that go-zookeeper does not expose.
type sentCreate struct {
	written chan struct{} // closed when the request has been written
	zxid    int64         // of the reply: the zxid of the transaction; valid once Create has returned nil
}

// expectCreate makes the link record the next create of path, until takeCreate is called. path must be
// unique: a sequential create with a random ID.
func (s *Session) expectCreate(path string) *sentCreate {
	c := &sentCreate{written: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.creates[path] = c
	return c
}

func (s *Session) takeCreate(path string) *sentCreate {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer delete(s.creates, path)
	return s.creates[path]
}
