package check

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"
)

// Client is a session over one connection, used without a client library: the test sees the number
// of each request and the zxid of each reply.
type Client struct {
	Session int64
	Cxid    int32

	t    testing.TB
	conn net.Conn
}

// Reply is the header of a reply. Err is ZooKeeper's error code; 0 is success.
type Reply struct {
	Zxid int64
	Err  int32
}

// Dial connects to addr without TLS and opens a session with the requested timeout. The test fails on an
// error. The connection is usable for one minute, and closed at the end of the test.
func Dial(t testing.TB, addr string, timeout time.Duration) *Client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	OK(t, err)
	t.Cleanup(func() { conn.Close() })
	OK(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	c := &Client{t: t, conn: conn}
	// Protocol version, last zxid, timeout, session, password.
	c.send(Pack(int32(0), int64(0), int32(timeout.Milliseconds()), int64(0), make([]byte, 16)))
	c.Session = int64(binary.BigEndian.Uint64(c.receive()[8:]))
	return c
}

// Do sends a request of the given type and fields, and returns the reply's header.
func (c *Client) Do(code int32, fields ...any) Reply {
	c.t.Helper()
	c.Cxid++
	c.send(Pack(append([]any{c.Cxid, code}, fields...)...))
	reply := c.receive()
	return Reply{Zxid: int64(binary.BigEndian.Uint64(reply[4:])), Err: int32(binary.BigEndian.Uint32(reply[12:]))}
}

// Cut closes the connection without closing the session.
func (c *Client) Cut() { c.conn.Close() }

func (c *Client) send(frame []byte) {
	c.t.Helper()
	_, err := c.conn.Write(Pack(frame))
	OK(c.t, err)
}

func (c *Client) receive() []byte {
	c.t.Helper()
	var size [4]byte
	_, err := io.ReadFull(c.conn, size[:])
	OK(c.t, err)
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(c.conn, frame)
	OK(c.t, err)
	return frame
}

// Pack encodes values as ZooKeeper does: big-endian, strings and bytes with a length prefix. It writes
// a Raw without this prefix.
func Pack(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		switch text := v.(type) {
		case string:
			v = append(Pack(int32(len(text))), text...)
		case []byte:
			v = append(Pack(int32(len(text))), text...)
		}
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// Raw is a byte slice that Pack writes without a length prefix.
type Raw []byte
