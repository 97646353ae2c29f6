package wire

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"testing"
	"time"
)

// endless is a connection that swallows writes and answers the same bytes for ever.
type endless struct {
	net.Conn
	answer []byte
	at     int
}

func (e *endless) Write(p []byte) (int, error) { return len(p), nil }

func (e *endless) Read(b []byte) (int, error) {
	n := copy(b, e.answer[e.at:])
	e.at = (e.at + n) % len(e.answer)
	return n, nil
}

func (e *endless) Close() error { return nil }

// BenchmarkFrame is what the tap itself costs for a request and its reply, in
// the pieces in which go-zookeeper moves them: one write, two reads.
func BenchmarkFrame(b *testing.B) {
	start := time.Now()
	passFrames(b, New(func() time.Duration { return time.Since(start) }))
}

// passFrames measures requests and replies through a connection of the tap.
func passFrames(b *testing.B, tap *Tap) {
	b.Helper()
	raw := &endless{answer: response}
	k := newConn(tap.client(0), raw, "")
	greet(b, k, raw)
	buf := make([]byte, 64)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := k.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(k, buf[:4]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(k, buf[:len(response)-4]); err != nil {
			b.Fatal(err)
		}
	}
	if n := k.c.Counts(); n.InFlight != 0 || n.Unmatched != 0 || n.Replies != n.Requests.Of(GetData) {
		b.Fatalf("miscounted: %v", n.Map())
	}
}

var (
	request  = frame(be32(7), be32(int(GetData)), text("/zkbench/lock/_c_0123456789abcdef-lock-0000000042"), []byte{1})
	response = frame(be32(7), be64(99), be32(0), make([]byte, 40))
)

// greet exchanges a handshake.
func greet(b *testing.B, k *conn, raw *endless) {
	b.Helper()
	if _, err := k.Write(hello(0)); err != nil {
		b.Fatal(err)
	}
	welcome := welcome(1, time.Second)
	raw.answer = welcome
	if _, err := io.ReadFull(k, make([]byte, len(welcome))); err != nil {
		b.Fatal(err)
	}
	raw.answer, raw.at = response, 0
}

// BenchmarkThroughput compares request and reply over loopback TCP with and
// without the tap: short blocks of round trips, one bare and one tapped by
// turns, so that whatever else the machine does hits both. tap/bare compares the
// blocks at the quicker quartile, which other work has hit least: 1.01 is one
// percent slower. A/A compares two bare connections: what it is off 1 is noise.
// The far end does nothing but answer, so this is the worst case; for what the
// tap costs beside a real server see BenchmarkZooKeeper.
func BenchmarkThroughput(b *testing.B) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	go serve(l)
	start := time.Now()
	tap := New(func() time.Duration { return time.Since(start) })
	defer tap.Close()
	conns := [3]net.Conn{
		dialled(b, tap.client(0).Dial, l.Addr().String()),
		dialled(b, net.DialTimeout, l.Addr().String()),
		dialled(b, net.DialTimeout, l.Addr().String()),
	}
	const block = 25
	var took [3][]float64 // nanoseconds a trip
	for round := 0; b.Loop(); round++ {
		for turn := range conns {
			i := (round + turn) % len(conns)
			took[i] = append(took[i], float64(trips(b, conns[i], block).Nanoseconds())/block)
		}
	}
	var quick [3]float64
	for i := range took {
		slices.Sort(took[i])
		quick[i] = took[i][len(took[i])/4]
		_ = conns[i].Close() // all was read
	}
	b.ReportMetric(quick[0]/quick[1], "tap/bare")
	b.ReportMetric(quick[2]/quick[1], "A/A")
	b.ReportMetric(quick[1], "bare-ns/trip")
	n := tap.Totals()
	if want := int64(len(took[0]) * block); n.Replies != want || n.Requests.Of(GetData) != want {
		b.Fatalf("of %d trips counted: %v", want, n.Map())
	}
}

// serve answers every frame: the handshake with a session, all else alike.
func serve(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer c.Close()
			buf, answer := make([]byte, 256), welcome(1, time.Second)
			for {
				if _, err := io.ReadFull(c, buf[:4]); err != nil {
					return
				}
				if _, err := io.ReadFull(c, buf[:binary.BigEndian.Uint32(buf)]); err != nil {
					return
				}
				if _, err := c.Write(answer); err != nil {
					return
				}
				answer = response
			}
		}()
	}
}

func dialled(b *testing.B, dial func(string, string, time.Duration) (net.Conn, error), addr string) net.Conn {
	b.Helper()
	c, err := dial("tcp", addr, time.Second)
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Write(hello(0)); err != nil {
		b.Fatal(err)
	}
	got := make([]byte, len(welcome(1, time.Second)))
	if _, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, welcome(1, time.Second)) {
		b.Fatalf("handshake: %x, %v", got, err)
	}
	return c
}

// trips does n round trips the way go-zookeeper does them, and returns how long
// they took.
func trips(b *testing.B, c net.Conn, n int) time.Duration {
	var buf [128]byte
	start := time.Now()
	for range n {
		_ = c.SetWriteDeadline(time.Now().Add(time.Second))
		if _, err := c.Write(request); err != nil {
			b.Fatal(err)
		}
		_ = c.SetWriteDeadline(time.Time{})
		_ = c.SetReadDeadline(time.Now().Add(time.Second))
		if _, err := io.ReadFull(c, buf[:4]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, buf[:len(response)-4]); err != nil {
			b.Fatal(err)
		}
		_ = c.SetReadDeadline(time.Time{})
	}
	return time.Since(start)
}
