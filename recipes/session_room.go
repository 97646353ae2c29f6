package recipes

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// go-zookeeper has one buffer a session in which it makes requests. Nearly all of ours are
// short, and thousands of sessions wait in one process, so it is small at first. Before
// the first long request it is replaced by one of MaxPacket bytes. Only go-zookeeper's
// send loop may do that, between two requests: when it has written one, it takes the
// deadline of the write away, and there we are (link.SetWriteDeadline). So the session
// asks for something short then, once.

const (
	firstRequest = 4 << 10 // bytes of the first buffer
	// requestRest is more than what a request has besides paths, data and an ACL. A request
	// that ends at the very end of the buffer makes go-zookeeper panic.
	requestRest = 512
)

// room returns when there is a buffer for a request with that many bytes of paths, data
// and an ACL. An error says that there is none, so that the request cannot be sent.
func (s *Session) room(ctx context.Context, what, path string, n int) error {
	s.mu.Lock()
	short := s.buffer < s.options.MaxPacket && n+requestRest > s.buffer
	s.wantsRoom = s.wantsRoom || short
	s.mu.Unlock()
	if !short {
		return nil
	}
	_, err := s.Exists(ctx, "/")
	switch {
	case err == nil:
		return nil
	case s.Err() != nil:
		err = s.Err()
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	}
	return fmt.Errorf("%s %s: not sent: %w", what, path, err)
}

// makeRoom replaces the buffer if that was asked for. Only the send loop calls it, or the
// connect loop while there is none.
func (s *Session) makeRoom() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wantsRoom && s.buffer < s.options.MaxPacket {
		s.buffer = s.options.MaxPacket
		zk.WithMaxConnBufferSize(s.buffer)(s.conn)
	}
}

// aclSize is how many bytes an ACL takes in a request.
func aclSize(acl []zk.ACL) (n int) {
	for _, a := range acl {
		n += len(a.Scheme) + len(a.ID) + 12
	}
	return n
}

// multiSize is how many bytes of paths and data a transaction has, of those that a
// session makes.
func multiSize(ops []any) (n int) {
	for _, op := range ops {
		switch op := op.(type) {
		case *zk.DeleteRequest:
			n += len(op.Path)
		case *zk.SetDataRequest:
			n += len(op.Path) + len(op.Data)
		}
	}
	return n
}
