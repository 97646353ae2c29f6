package recipes

import (
	"fmt"
	"time"
)

func (s *Session) attach(l *link) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == ended {
		l.Conn.Close()
		return nil, sessionEnded(s.cause)
	}
	s.link = l
	return l, nil
}

func (s *Session) dialFailed(addr string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialErr = fmt.Errorf("%s: %w", addr, err)
}

// admit decides whether a connect response continues this session. A session ID of 0 means expired;
// another ID than our own would be another session.
func (s *Session) admit(id int64, timeout time.Duration) bool {
	s.mu.Lock()
	if id == 0 || (s.id != 0 && s.id != id) {
		s.mu.Unlock()
		s.end(errExpired)
		return false
	}
	s.id, s.negotiated = id, timeout
	s.mu.Unlock()
	return true
}

// timeout returns the negotiated session timeout.
func (s *Session) timeout() time.Duration { s.mu.Lock(); defer s.mu.Unlock(); return s.negotiated }

// heard records that the servers acknowledged a frame that was sent at sent.
func (s *Session) heard(sent time.Time, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if write && sent.After(s.lastWrite) {
		s.lastWrite = sent
	}
	if !sent.After(s.lastHeard) || s.state == ended {
		return
	}
	s.lastHeard = sent
	if s.deadline == nil {
		s.deadline = time.AfterFunc(time.Until(s.expiry()), s.checkDeadline)
	}
}

// expiry returns the instant from which on the servers may have expired the session: the send time
// of the last acknowledged request or ping plus the negotiated timeout. The caller holds mu.
func (s *Session) expiry() time.Time { return s.lastHeard.Add(s.negotiated) }

// checkDeadline ends the session if it may have expired, and otherwise sets the timer again: the
// timer is not moved at every reply.
func (s *Session) checkDeadline() {
	s.mu.Lock()
	left := time.Until(s.expiry())
	if left > 0 && s.state != ended {
		s.deadline.Reset(left)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.end(errDeadline)
}

// confirmed reports whether the leader cannot have expired the session yet: a write of it was
// answered within a session timeout. Answered pings and reads do not prove that. They come from the
// session's member, which continues to answer while it is isolated from the others: for syncLimit
// ticks, which may be far more than a session timeout. When it reconnects to them, it may first
// report that the node before ours was deleted, and only then that our session has expired long
// ago.
func (s *Session) confirmed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastWrite) < s.negotiated
}

// sentCreate is a create in progress, for which the link records data that go-zookeeper does not expose.
type sentCreate struct {
	written chan struct{} // closed when the request is on the wire
	zxid    int64         // of the reply: the zxid of the transaction; valid once Create has returned nil
}

// expectCreate makes the link watch for the create of path, which must be unique (a sequential
// create with a random ID), until dropCreate is called.
func (s *Session) expectCreate(path string) *sentCreate {
	c := &sentCreate{written: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.creates[path] = c
	return c
}

func (s *Session) dropCreate(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.creates, path)
}

// takeCreate returns the create of path if it is expected, once, and otherwise nil.
func (s *Session) takeCreate(path []byte) *sentCreate {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.creates[string(path)]
	delete(s.creates, string(path))
	return c
}
