package recipes

import (
	"fmt"
	"time"
)

// What a session learns from its link.

// attach makes l the session's connection.
func (s *Session) attach(l *link) (*link, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state == Ended {
		l.Conn.Close()
		return nil, ended(s.cause)
	}
	s.link = l
	return l, nil
}

// admit decides whether a connect response continues this session. A session id of
// 0 means expired; another id than ours would be another session.
func (s *Session) admit(id int64, password []byte, timeout time.Duration) bool {
	s.mu.Lock()
	if id == 0 || (s.id != 0 && s.id != id) {
		s.mu.Unlock()
		s.end(ErrExpired)
		return false
	}
	s.id, s.password, s.negotiated = id, password, timeout
	s.mu.Unlock()
	return true
}

// heard records that the servers acknowledged something that was sent at sent.
func (s *Session) heard(sent time.Time, write bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if write && sent.After(s.lastWrite) {
		s.lastWrite = sent
	}
	if !sent.After(s.lastHeard) || s.state == Ended {
		return
	}
	s.lastHeard = sent
	if s.deadline == nil {
		s.deadline = time.AfterFunc(time.Until(sent.Add(s.negotiated)), s.checkDeadline)
	}
}

// confirmed tells whether the leader cannot have let the session expire yet: a write
// of it was answered within a session timeout. Answered pings and reads do not prove
// that: they come from the member that serves us, which goes on answering while it is
// cut off from the others (for syncLimit ticks, which may be far more than a session
// timeout). When it hears from them again, it tells of the node before ours going
// first, and that our session has expired long ago afterwards.
func (s *Session) confirmed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.lastWrite) < s.negotiated
}

// checkDeadline ends the session when the deadline has really passed, and sleeps
// on otherwise: the timer is not moved at every reply.
func (s *Session) checkDeadline() {
	s.mu.Lock()
	left := time.Until(s.lastHeard.Add(s.negotiated))
	if left > 0 && s.state != Ended {
		s.deadline.Reset(left)
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	s.end(ErrDeadline)
}

// replyLength ends the session with a clear error where go-zookeeper would drop
// the connection and meet the same oversized reply again, for ever.
func (s *Session) replyLength(n int) {
	if n > s.options.MaxPacket {
		s.end(fmt.Errorf("a reply of %d bytes exceeds MaxPacket (%d): raise it", n, s.options.MaxPacket))
	}
}

func (s *Session) dialFailed(addr string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dialErr = fmt.Errorf("%s: %w", addr, err)
}

func (s *Session) lastDialError() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dialErr == nil {
		return ""
	}
	return fmt.Sprintf(" (last connection error: %v)", s.dialErr)
}

// flight is a create under way, of which the link tells more than go-zookeeper does.
type flight struct {
	written chan struct{} // closed when the request is on the wire
	zxid    int64         // of the reply: that of the transaction; valid once Create has returned nil
}

// takeOff has the link look out for the create of path, which must be unique (a
// sequential create with a random id). land ends that.
func (s *Session) takeOff(path string) *flight {
	f := &flight{written: make(chan struct{})}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flights[path] = f
	return f
}

func (s *Session) land(path string) { s.mu.Lock(); defer s.mu.Unlock(); delete(s.flights, path) }

// flightOf returns the flight of the create of path, nil if nobody waits for it.
// It has taken off then: the link sees each only once.
func (s *Session) flightOf(path []byte) *flight {
	if path == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.flights[string(path)]
	delete(s.flights, string(path))
	return f
}
