package chaos

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// What is written here by hand is the little of ZooKeeper's protocol that it takes
// to act as another client's session: a client library would not let us.

// credentials are what makes a connection part of a session. Whoever has them is
// the session's client, as far as the server can tell.
type credentials struct {
	id       int64
	password []byte
	timeout  time.Duration // as negotiated; asking for the same changes nothing
}

const (
	opCloseSession = -11
	// maxRawFrame bounds what we accept as an answer to connect or closeSession.
	maxRawFrame = 1 << 10
	// rawLimit bounds one attempt at one member. On one machine an answer takes
	// milliseconds; a member that is cut off or frozen gives none, and there are others.
	rawLimit = 500 * time.Millisecond
)

// errNotKnown says that the server does not know the session (any more).
var errNotKnown = errors.New("the server does not know the session")

// connectFrame asks to become the session's client. The last zxid seen is 0, so
// that a member that lags behind the victim's accepts us too.
func connectFrame(c credentials) []byte {
	b := make([]byte, 4, 64)
	b = binary.BigEndian.AppendUint32(b, 0)                                // protocol version
	b = binary.BigEndian.AppendUint64(b, 0)                                // last zxid seen
	b = binary.BigEndian.AppendUint32(b, uint32(c.timeout.Milliseconds())) // timeout
	b = binary.BigEndian.AppendUint64(b, uint64(c.id))
	b = binary.BigEndian.AppendUint32(b, uint32(len(c.password)))
	b = append(b, c.password...)
	b = append(b, 0) // not read-only
	binary.BigEndian.PutUint32(b, uint32(len(b)-4))
	return b
}

// closeFrame asks to close the session of the connection: xid 1 and the opcode.
func closeFrame() []byte {
	b := binary.BigEndian.AppendUint32(nil, 8)
	b = binary.BigEndian.AppendUint32(b, 1)
	closing := int32(opCloseSession)
	return binary.BigEndian.AppendUint32(b, uint32(closing))
}

// parseConnectReply returns the session id that the server answered with; 0
// means that it knows no such session, or that the password is wrong.
func parseConnectReply(b []byte) (id int64, err error) {
	if len(b) < 20 { // version 4, timeout 4, id 8, password's length 4
		return 0, fmt.Errorf("the answer to connect has %d bytes, too few", len(b))
	}
	return int64(binary.BigEndian.Uint64(b[8:])), nil
}

// parseReply returns the error code of a reply: xid 4, zxid 8, err 4.
func parseReply(b []byte) (xid, code int32, err error) {
	if len(b) < 16 {
		return 0, 0, fmt.Errorf("the reply has %d bytes, too few", len(b))
	}
	return int32(binary.BigEndian.Uint32(b)), int32(binary.BigEndian.Uint32(b[12:])), nil
}

func readFrame(r io.Reader) ([]byte, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxRawFrame {
		return nil, fmt.Errorf("a frame of %d bytes, which is none we asked for", n)
	}
	b := make([]byte, n)
	_, err := io.ReadFull(r, b)
	return b, err
}

// assume opens a connection to a member as the session's client, and sends first
// right behind the request to connect. The server cuts the client's own
// connection. It returns errNotKnown if there is no such session.
func assume(ctx context.Context, addr string, c credentials, first []byte) (_ net.Conn, err error) {
	d := net.Dialer{Timeout: rawLimit}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	// A closed connection ends a read that the context no longer waits for.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer func() {
		if !stop() {
			err = errors.Join(context.Cause(ctx), err)
		}
		if err != nil {
			conn.Close()
		}
	}()
	conn.SetDeadline(time.Now().Add(rawLimit))
	if _, err := conn.Write(append(connectFrame(c), first...)); err != nil {
		return nil, err
	}
	b, err := readFrame(conn)
	if err != nil {
		return nil, fmt.Errorf("%s gave no answer to connect: %w", addr, err)
	}
	id, err := parseConnectReply(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", addr, err)
	}
	if id != c.id {
		return nil, errNotKnown
	}
	return conn, nil
}

// closeSession closes the session as its client would, over one member. When it
// returns nil the close is committed, so the session's ephemeral nodes are gone.
func closeSession(ctx context.Context, addr string, c credentials) error {
	// In one write: the client, whose connection is cut now, may take its session
	// back at another member before we could send a second one.
	conn, err := assume(ctx, addr, c, closeFrame())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for {
		b, err := readFrame(conn)
		if err != nil {
			return fmt.Errorf("%s gave no answer to closeSession: %w", addr, err)
		}
		xid, code, err := parseReply(b)
		if err != nil {
			return fmt.Errorf("%s: %w", addr, err)
		}
		if xid != 1 {
			continue
		}
		if code != 0 {
			return fmt.Errorf("%s refused closeSession: error %d", addr, code)
		}
		return nil
	}
}

// known asks a member whether the session lives. Asking makes us its client, if
// it does, and cuts the client's own connection.
func known(ctx context.Context, addr string, c credentials) (bool, error) {
	conn, err := assume(ctx, addr, c, nil)
	if errors.Is(err, errNotKnown) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}
