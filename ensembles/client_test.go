package ensembles_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/check"
)

// client is a session over one connection, used without a client library: the test sees the number
// of each request and the zxid of each reply.
type client struct {
	Session int64
	Cxid    int32

	t    testing.TB
	conn net.Conn
}

// dial connects to addr without TLS and opens a session with the requested timeout. The test fails on an
// error. The connection is usable for one minute, and closed at the end of the test.
func dial(t testing.TB, addr string, timeout time.Duration) *client {
	t.Helper()
	conn, err := net.DialTimeout("tcp", addr, 10*time.Second)
	check.OK(t, err)
	t.Cleanup(func() { conn.Close() })
	check.OK(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	c := &client{t: t, conn: conn}
	// Protocol version, last zxid, timeout, session, password.
	c.send(pack(int32(0), int64(0), int32(timeout.Milliseconds()), int64(0), make([]byte, 16)))
	c.Session = int64(binary.BigEndian.Uint64(c.receive()[8:]))
	return c
}

// Do sends a request of the given type and fields. It returns the zxid and ZooKeeper's error code of the
// reply; 0 is success.
func (c *client) Do(code int32, fields ...any) (zxid int64, failed int32) {
	c.t.Helper()
	c.Cxid++
	c.send(pack(append([]any{c.Cxid, code}, fields...)...))
	reply := c.receive()
	return int64(binary.BigEndian.Uint64(reply[4:])), int32(binary.BigEndian.Uint32(reply[12:]))
}

func (c *client) send(frame []byte) {
	c.t.Helper()
	_, err := c.conn.Write(pack(frame))
	check.OK(c.t, err)
}

func (c *client) receive() []byte {
	c.t.Helper()
	var size [4]byte
	_, err := io.ReadFull(c.conn, size[:])
	check.OK(c.t, err)
	frame := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(c.conn, frame)
	check.OK(c.t, err)
	return frame
}

// pack encodes values as ZooKeeper does: big-endian, strings and bytes with a length prefix. It writes
// a raw without this prefix.
func pack(values ...any) []byte {
	var b bytes.Buffer
	for _, v := range values {
		switch text := v.(type) {
		case string:
			v = append(pack(int32(len(text))), text...)
		case []byte:
			v = append(pack(int32(len(text))), text...)
		}
		if err := binary.Write(&b, binary.BigEndian, v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// raw is a byte slice that pack writes without a length prefix.
type raw []byte
