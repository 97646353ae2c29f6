package wire

import (
	"bytes"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"sync"
	"time"
)

// Dialer is the function with which a client connects: a zk.Dialer.
type Dialer = func(network, addr string, timeout time.Duration) (net.Conn, error)

// Renumbered is the number by which Renumber lowers sequence numbers: enough to make the numbers of a
// trial negative, and few enough that they keep their ten characters.
const Renumbered = 100_000

// Renumber returns a dialer whose connections lower the sequence numbers in everything that the
// server sends, and raise those in everything that the client sends. The client sees the negative
// numbers of a parent whose counter has wrapped, which takes two billion creates, and can use the
// names that it sees. A number follows "-" or "_" in a name and has ten characters. The connections
// of dial carry the real numbers.
func Renumber(dial Dialer) Dialer {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := dial(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		k := &renumbered{Conn: c}
		k.fromServer.scan.extents, k.fromClient.scan.extents = &replyExtents, &requestExtents
		return k, nil
	}
}

// RealPath returns the real path that a client with a renumbered connection sees as path.
func RealPath(path string) string { return string(raiseNumbers([]byte(path))) }

// renumbered is a connection whose frames are rewritten. A number keeps its length, so nothing else
// in a frame changes.
type renumbered struct {
	net.Conn
	fromServer frameAssembler
	ready      bytes.Buffer

	mu         sync.Mutex
	fromClient frameAssembler
}

// Read returns rewritten bytes, of whole frames only.
func (k *renumbered) Read(b []byte) (int, error) {
	chunk := make([]byte, 16<<10)
	for k.ready.Len() == 0 {
		n, err := k.Conn.Read(chunk)
		k.ready.Write(lowerNumbers(k.fromServer.complete(chunk[:n])))
		if err != nil && k.ready.Len() == 0 {
			return 0, err
		}
	}
	return k.ready.Read(b)
}

// Write accepts all of b, and sends the frames that are complete.
func (k *renumbered) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if frames := k.fromClient.complete(b); len(frames) > 0 {
		if _, err := k.Conn.Write(raiseNumbers(frames)); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

type frameAssembler struct {
	scan scanner
	part []byte
}

// complete returns the frames that the next bytes complete. Bytes that are not frames are returned as they come.
func (f *frameAssembler) complete(p []byte) []byte {
	var out []byte
	for len(p) > 0 {
		n, m := f.scan.next(p)
		f.part = append(f.part, p[:n]...)
		p = p[n:]
		if m&atEnd != 0 || f.scan.unparsable {
			out = append(out, f.part...)
			f.part = f.part[:0]
		}
	}
	return out
}

var (
	realNumber    = regexp.MustCompile(`[-_]0[0-9]{9}`)
	loweredNumber = regexp.MustCompile(`[-_]-[0-9]{9}`)
)

func lowerNumbers(b []byte) []byte { return addToNumbers(b, realNumber, -Renumbered) }
func raiseNumbers(b []byte) []byte { return addToNumbers(b, loweredNumber, Renumbered) }

// addToNumbers adds n to each number that the pattern matches after one character.
func addToNumbers(b []byte, pattern *regexp.Regexp, n int) []byte {
	return pattern.ReplaceAllFunc(b, func(m []byte) []byte {
		number, _ := strconv.Atoi(string(m[1:])) // ten characters, all digits but for a sign
		return fmt.Appendf(m[:1:1], "%010d", number+n)
	})
}
