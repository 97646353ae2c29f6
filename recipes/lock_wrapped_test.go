package recipes

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// A parent's counter is an int32 that nobody can set, and 2^31 creates take weeks.
// So these clients see real nodes under other numbers: shifted rewrites the suffixes
// in what goes over the connection, both ways, as if the counter had wrapped long
// ago and were just about to reach 0 again. There, order as text is the reverse of
// the order of creation.
type shifted struct {
	net.Conn
	in   *bufio.Reader
	rest []byte // of a frame that was rewritten
}

const shift = -6 // keeps suffixes at ten characters, so that frames keep their length

var suffix = regexp.MustCompile(`-lock-[-0-9][0-9]{9}`)

func rewrite(frame []byte, by int) []byte {
	return suffix.ReplaceAllFunc(frame, func(name []byte) []byte {
		n, err := strconv.Atoi(string(name[len("-lock-"):]))
		if err != nil {
			return name
		}
		return fmt.Appendf(nil, "-lock-%010d", n+by)
	})
}

func (c *shifted) Write(b []byte) (int, error) { return c.Conn.Write(rewrite(b, -shift)) }

func (c *shifted) Read(b []byte) (int, error) {
	if len(c.rest) == 0 {
		head, err := c.in.Peek(4)
		if err != nil {
			return 0, err
		}
		frame := make([]byte, 4+binary.BigEndian.Uint32(head))
		if _, err := io.ReadFull(c.in, frame); err != nil {
			return 0, err
		}
		c.rest = rewrite(frame, shift)
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

func dialShifted(network, addr string, timeout time.Duration) (net.Conn, error) {
	c, err := net.DialTimeout(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &shifted{Conn: c, in: bufio.NewReader(c)}, nil
}

func TestLock_takesNegativeNumbersFirst(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		path, observer := freshPath(), open(t, dialShifted)
		var grants []<-chan outcome[*Grant]
		for i := range 10 {
			l := NewLock(open(t, dialShifted), path, v)
			grants = append(grants, join(t, observer, path, lockPrefix, i+1, l.Acquire))
		}
		for i, granted := range grants {
			g := (<-granted).must(t)
			if seq, ok := sequence(client.Base(g.Path), lockPrefix); !ok || int(seq) != i+shift {
				t.Errorf("grant %d went to %s, want number %d", i+1, g.Path, i+shift)
			}
			release(t, g)
		}
	})
}
