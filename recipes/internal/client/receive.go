package client

import (
	"net"
	"time"

	"github.com/go-zookeeper/zk"
)

// firstReply is the initial size of a connection's receive buffer, in bytes.
const firstReply = 4 << 10

// receive dials connections whose receive buffer grows with the replies. go-zookeeper itself would
// allocate a buffer for the longest reply that it accepts.
type receive struct {
	dial zk.Dialer
	conn *zk.Conn
	max  int // length of the longest reply, in bytes
}

func (r *receive) option(c *zk.Conn) { r.conn = c }

// Dial runs on go-zookeeper's connect loop, while no receive loop runs. The next one begins with a small buffer.
func (r *receive) Dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	first := min(r.max, firstReply)
	zk.WithMaxBufferSize(first)(r.conn)
	c, err := r.dial(network, addr, timeout)
	if err != nil {
		return nil, err
	}
	return &received{Conn: c, r: r, first: first}, nil
}

type received struct {
	net.Conn
	r     *receive
	first int
	large bool // whether the limit has been raised to r.max
}

// Read is called first for the handshake, with a shorter buffer, and then by the receive loop with its buffer. From
// then on the limit applies to the larger buffers that it allocates. Nothing else reads the limit.
func (c *received) Read(b []byte) (int, error) {
	if !c.large && cap(b) >= c.first {
		zk.WithMaxBufferSize(c.r.max)(c.r.conn)
		c.large = true
	}
	return c.Conn.Read(b)
}
