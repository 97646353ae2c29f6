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
	net.Conn // nil

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
	tb.Cleanup(b.tap.Close)
	b.c = b.tap.client(0)
	b.redial()
	return b
}

// openBench returns a bench whose client has session 5, with a timeout of 4 s.
func openBench(tb testing.TB) *bench {
	tb.Helper()
	b := newBench(tb)
	b.write(hello(0))
	b.read(welcome(5, 4*time.Second))
	return b
}

func newTape() *tape {
	t := &tape{}
	t.more.L = &t.mu
	return t
}

// redial gives the client another connection.
func (b *bench) redial() {
	b.far = newTape()
	b.adopt(b.far)
}

func (b *bench) adopt(raw net.Conn) {
	b.tb.Helper()
	var err error
	b.conn, err = b.c.adopt(raw, "far:2181")
	b.check(err)
}

func (b *bench) check(err error) {
	b.tb.Helper()
	if err != nil {
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

// readAll reads until the connection ends, in pieces.
func (b *bench) readAll() (got []byte, err error) {
	buf := make([]byte, 7)
	for {
		n, err := b.conn.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil {
			return got, err
		}
	}
}

// reading starts a read of n bytes and returns where its error comes out.
func (b *bench) reading(n int) <-chan error {
	done := make(chan error, 1)
	conn := b.conn
	go func() { _, err := io.ReadFull(conn, make([]byte, n)); done <- err }()
	return done
}

func (b *bench) arm(r Rule) *armedRule {
	b.tb.Helper()
	s, err := b.c.Arm(r)
	b.check(err)
	return s.(*armedRule)
}

// Until waits until ok returns true, and fails the test when that takes too long.
func Until(tb testing.TB, what string, ok func() bool) {
	tb.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(60 * time.Second)
	for !ok() {
		select {
		case <-late:
			tb.Fatal("waited in vain until " + what)
		case <-tick.C:
		}
	}
}
