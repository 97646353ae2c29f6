package wire

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"
)

// Frames as clients and servers build them.

func be32(n int) []byte   { return binary.BigEndian.AppendUint32(nil, uint32(int32(n))) }
func be64(n int64) []byte { return binary.BigEndian.AppendUint64(nil, uint64(n)) }

func text(s string) []byte { return append(be32(len(s)), s...) }

func frame(parts ...[]byte) []byte {
	var body []byte
	for _, p := range parts {
		body = append(body, p...)
	}
	return append(be32(len(body)), body...)
}

func hello(session int64) []byte {
	return frame(be32(0), be64(0), be32(10_000), be64(session), text("0123456789abcdef"))
}

func welcome(session int64, timeout time.Duration) []byte {
	return frame(be32(0), be32(int(timeout.Milliseconds())), be64(session), text("secret-secret-00"), []byte{0})
}

func ask(xid int, op Op, path string) []byte {
	return frame(be32(xid), be32(int(op)), text(path), []byte{0})
}

func answer(xid int, zxid int64, code int, body string) []byte {
	return frame(be32(xid), be64(zxid), be32(code), []byte(body))
}

func event(kind int, path string) []byte {
	return frame(be32(-1), be64(-1), be32(0), be32(kind), be32(3), text(path))
}

// tape is the far end of a connection: it remembers what is written to it, and
// plays what it was given, in pieces of the sizes in cuts. At the end of the
// bytes a read returns io.EOF, or waits while live.
type tape struct {
	mu     sync.Mutex
	more   sync.Cond
	got    []byte
	play   []byte
	cuts   []byte
	live   bool
	closed bool
	late   bool // the next read finds its deadline passed
}

func (t *tape) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return 0, net.ErrClosed
	}
	t.got = append(t.got, p...)
	return len(p), nil
}

func (t *tape) Read(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.play) == 0 && t.live && !t.closed {
		t.more.Wait()
	}
	switch {
	case t.late:
		t.late = false
		return 0, os.ErrDeadlineExceeded
	case t.closed:
		return 0, net.ErrClosed
	case len(t.play) == 0:
		return 0, io.EOF
	}
	n := min(len(b), len(t.play))
	if len(t.cuts) > 0 {
		n = min(n, 1+int(t.cuts[0]))
		t.cuts = t.cuts[1:]
	}
	copy(b, t.play[:n])
	t.play = t.play[n:]
	return n, nil
}

func (t *tape) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.more.Broadcast()
	return nil
}

// feed plays more bytes.
func (t *tape) feed(p ...[]byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, b := range p {
		t.play = append(t.play, b...)
	}
	t.more.Broadcast()
}

// sent returns what has been written to the far end.
func (t *tape) sent() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]byte(nil), t.got...)
}

func (t *tape) isClosed() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.closed
}

func (t *tape) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *tape) SetDeadline(time.Time) error      { return nil }
func (t *tape) SetReadDeadline(time.Time) error  { return nil }
func (t *tape) SetWriteDeadline(time.Time) error { return nil }

// bench is a client with one connection to a tape, on a clock that counts up by
// a second each time it is looked at.
type bench struct {
	tb   testing.TB
	tap  *Tap
	c    *client
	far  *tape
	conn net.Conn

	mu     sync.Mutex
	ticks  time.Duration
	events []Event // without those of deadlines, which pass quickly on that clock
	missed []Event // deadlines
}

func newBench(tb testing.TB) *bench {
	b := &bench{tb: tb}
	b.tap = New(func() time.Duration {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.ticks += time.Second
		return b.ticks
	})
	b.tap.OnEvent(func(e Event) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if e.Kind == Deadline {
			b.missed = append(b.missed, e)
			return
		}
		b.events = append(b.events, e)
	})
	b.c = b.tap.client(0)
	b.redial()
	return b
}

// redial gives the client another connection.
func (b *bench) redial() {
	b.far = &tape{}
	b.far.more.L = &b.far.mu
	conn, err := b.c.adopt(b.far, "far:2181")
	b.check(err)
	b.conn = conn
}

func (b *bench) check(err error) {
	if err != nil {
		if h, ok := b.tb.(interface{ Helper() }); ok {
			h.Helper()
		}
		b.tb.Fatal(err)
	}
}

// write writes frames, each in a call of its own.
func (b *bench) write(frames ...[]byte) {
	b.tb.Helper()
	for _, f := range frames {
		n, err := b.conn.Write(f)
		b.check(err)
		if n != len(f) {
			b.tb.Fatalf("wrote %d of %d bytes", n, len(f))
		}
	}
}

// read plays frames and reads as many bytes as they have.
func (b *bench) read(frames ...[]byte) {
	b.tb.Helper()
	n := 0
	for _, f := range frames {
		b.far.feed(f)
		n += len(f)
	}
	_, err := io.ReadFull(b.conn, make([]byte, n))
	b.check(err)
}

// greet exchanges a handshake for session 5 with 4 s.
func (b *bench) greet() {
	b.tb.Helper()
	b.write(hello(0))
	b.read(welcome(5, 4*time.Second))
}

func (b *bench) arm(r Rule) *armedRule {
	b.tb.Helper()
	s, err := b.c.Arm(r)
	b.check(err)
	return s.(*armedRule)
}
