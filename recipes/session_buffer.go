package recipes

import (
	"context"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// go-zookeeper has one buffer per session in which it encodes requests. Nearly all of them are
// short, and thousands of sessions share one process, so it is small at first. Before the first
// long request it is replaced by one of MaxPacket bytes. Only go-zookeeper's send loop may do that,
// between two requests: when it has written one, it removes the write deadline, which calls
// link.SetWriteDeadline. So the session sends a short request then, once.

const (
	firstRequest = 4 << 10 // bytes of the first buffer
	// requestRest is more than the size of a request without paths, data and an ACL. A request that
	// ends at the very end of the buffer makes go-zookeeper panic.
	requestRest = 512
)

// ensureBuffer returns when there is a buffer for a request with that many bytes of paths, data and an ACL.
// On an error there is none, so that the request cannot be sent.
func (s *Session) ensureBuffer(ctx context.Context, what, path string, n int) error {
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

// makeRoom replaces the buffer if that was requested. Only the send loop calls it, or the connect
// loop while there is no send loop.
func (s *Session) makeRoom() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.wantsRoom && s.buffer < s.options.MaxPacket {
		s.buffer = s.options.MaxPacket
		zk.WithMaxConnBufferSize(s.buffer)(s.conn)
	}
}

// aclSize returns the size of an ACL in a request.
func aclSize(acl []zk.ACL) (n int) {
	for _, a := range acl {
		n += len(a.Scheme) + len(a.ID) + 12
	}
	return n
}

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
