package wire

import (
	"io"
	"net"
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

// BenchmarkFrame is what the tap itself costs for a request and its reply, in
// the pieces in which go-zookeeper moves them: one write, two reads.
func BenchmarkFrame(b *testing.B) {
	start := time.Now()
	tap := New(func() time.Duration { return time.Since(start) })
	raw := &endless{answer: welcome(1, time.Second)}
	k := newConn(tap.client(0), raw, "")
	buf := make([]byte, 64)
	exchange := func(request []byte) {
		if _, err := k.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(k, buf[:4]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(k, buf[:len(raw.answer)-4]); err != nil {
			b.Fatal(err)
		}
	}
	exchange(hello(0))
	raw.answer = frame(be32(7), be64(99), be32(0), make([]byte, 40))
	request := frame(be32(7), be32(int(GetData)), text("/zkbench/lock/_c_0123456789abcdef-lock-0000000042"), []byte{1})
	b.ReportAllocs()
	for b.Loop() {
		exchange(request)
	}
	if n := k.c.Counts(); n.InFlight != 0 || n.Unmatched != 0 || n.Replies != n.Requests.Of(GetData) {
		b.Fatalf("miscounted: %v", n.Map())
	}
}
