package wire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"
)

// ErrUnknownSession means that the server does not know a session.
var ErrUnknownSession = errors.New("the server does not know the session")

// takeoverLimit bounds one attempt at one server. A local reply takes milliseconds; an isolated or
// frozen server sends none, and there are others.
const takeoverLimit = 500 * time.Millisecond

// CloseAt closes the session over a new connection to the server at addr, as the session's client
// would: to the server, the holder of ID and password is the client. The server closes the client's
// own connection. When CloseAt returns nil the close is committed, and the session's ephemeral
// nodes are deleted. It returns ErrUnknownSession if there was no session to close.
func (s Session) CloseAt(ctx context.Context, addr string) error {
	// In one write: the client, whose connection is closed now, might resume its session at another
	// server before a second write.
	conn, err := s.takeOver(ctx, addr, closeRequest())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	for {
		body, err := readFrame(conn, replyExtents[1].least)
		if err != nil {
			return fmt.Errorf("%s did not answer closeSession: %w", addr, err)
		}
		if int32At(body, 0) != closeXid {
			continue
		}
		if code := int32At(body, 12); code != 0 {
			return fmt.Errorf("%s refused closeSession: error %d", addr, code)
		}
		return nil
	}
}

// KnownAt reports whether the server at addr knows the session. The request takes a known session
// over: the server closes the client's own connection.
func (s Session) KnownAt(ctx context.Context, addr string) (bool, error) {
	conn, err := s.takeOver(ctx, addr, nil)
	if errors.Is(err, ErrUnknownSession) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, conn.Close()
}

// takeOver opens a connection to a server as the session's client. It sends first directly after
// the ConnectRequest.
func (s Session) takeOver(ctx context.Context, addr string, first []byte) (_ net.Conn, err error) {
	limit := takeoverLimit
	if s.way.Dial != nil {
		limit *= 4 // a handshake takes longer
	}
	dialing, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	conn, err := s.way.dial(dialing, "tcp", addr)
	if err != nil {
		return nil, err
	}
	// Closing the connection ends a read when the context does.
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer func() {
		if !stop() {
			err = errors.Join(context.Cause(ctx), err)
		}
		if err != nil {
			conn.Close()
		}
	}()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		return nil, err
	}
	if first != nil {
		first = append(s.way.authRequest(), first...)
	}
	if _, err := conn.Write(append(connectRequest(s), first...)); err != nil {
		return nil, err
	}
	body, err := readFrame(conn, replyExtents[0].least)
	if err != nil {
		return nil, fmt.Errorf("%s did not answer the ConnectRequest: %w", addr, err)
	}
	if int64At(body, 8) != s.ID { // also 0 if the password is wrong
		return nil, ErrUnknownSession
	}
	return conn, nil
}
