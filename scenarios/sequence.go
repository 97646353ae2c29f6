package scenarios

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"
)

// wrapBy is by how much the sequence numbers are shifted: far enough that all of a
// trial's are negative, and not so far that they take more than their ten characters.
const wrapBy = 100_000

// sequentialName matches the end of a name that a sequential create has made.
var sequentialName = regexp.MustCompile(`[-0-9][0-9]{9}$`)

// wrapNumbers lets a client live in a world in which the parent's counter has
// wrapped: the numbers at the end of names are negative. To bring a real counter
// there takes two thousand million creates. Both directions are rewritten, so the
// client can use the names that it sees; the tap sees the real ones.
func wrapNumbers(dial zk.Dialer) zk.Dialer {
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		c, err := dial(network, addr, timeout)
		if err != nil {
			return nil, err
		}
		return &wrapped{Conn: c}, nil
	}
}

// realPath undoes the shift in a path that such a client has told.
func realPath(path string) string { return string(unwrapNumbers([]byte(path))) }

// wrapped is a connection whose frames are rewritten. A number keeps its length, so
// nothing else of a frame changes.
type wrapped struct {
	net.Conn
	in   bytes.Buffer // rewritten, not read yet
	half bytes.Buffer // the beginning of a frame from the server

	mu  sync.Mutex
	out bytes.Buffer // the beginning of a frame from the client
}

// Read returns rewritten bytes, whole frames at a time.
func (w *wrapped) Read(b []byte) (int, error) {
	chunk := make([]byte, 16<<10)
	for w.in.Len() == 0 {
		n, err := w.Conn.Read(chunk)
		w.half.Write(chunk[:n])
		for f := frame(&w.half); f != nil; f = frame(&w.half) {
			w.in.Write(shiftNumbers(f))
		}
		if err != nil && w.in.Len() == 0 {
			return 0, err
		}
	}
	return w.in.Read(b)
}

// Write takes all of b, and sends the frames that are whole.
func (w *wrapped) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.out.Write(b)
	for f := frame(&w.out); f != nil; f = frame(&w.out) {
		if _, err := w.Conn.Write(unwrapNumbers(f)); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

// frame cuts the first whole frame off, its length included; nil if there is none.
func frame(b *bytes.Buffer) []byte {
	if b.Len() < 4 {
		return nil
	}
	n := 4 + int(binary.BigEndian.Uint32(b.Bytes()))
	if b.Len() < n {
		return nil
	}
	return bytes.Clone(b.Next(n))
}

var (
	realNumber    = regexp.MustCompile(`-0[0-9]{9}|_0[0-9]{9}`)
	shiftedNumber = regexp.MustCompile(`[-_]-[0-9]{9}`)
)

// shiftNumbers makes the numbers behind "-" and "_" negative, which is where all
// recipes here have them.
func shiftNumbers(b []byte) []byte {
	return realNumber.ReplaceAllFunc(b, func(m []byte) []byte {
		n, _ := strconv.Atoi(string(m[1:])) // ten digits
		return fmt.Appendf(m[:1:1], "%010d", n-wrapBy)
	})
}

func unwrapNumbers(b []byte) []byte {
	return shiftedNumber.ReplaceAllFunc(b, func(m []byte) []byte {
		n, _ := strconv.Atoi(string(m[1:])) // a sign and nine digits
		return fmt.Appendf(m[:1:1], "%010d", n+wrapBy)
	})
}
