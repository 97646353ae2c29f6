package wire

import (
	"fmt"
	"slices"
	"time"
)

// Shot is an armed rule. It hits one request, once, on any connection of its client.
type Shot interface {
	// Fired delivers the proof, once the act took effect: for HoldRequest and HoldReply once
	// the request, or the reply, is kept, for Delay once it was sent, for DropReply once the reply was
	// swallowed, and for all that cut, once the connection is. Then, and when the
	// rule was disarmed, it is closed.
	Fired() <-chan Proof
	// Release lets a request go that HoldRequest or Delay keeps, or a reply that HoldReply
	// keeps.
	Release()
	// Disarm takes the rule out of force. A request that it keeps is released, a
	// reply that it waits for will be delivered; a cut that only a hold puts off
	// comes still. It returns false when the rule had fired already.
	Disarm() bool
}

// shot is an armed rule at a client of this process.
type shot struct {
	rule     Rule
	c        *client
	fired    chan Proof
	released chan struct{} // closed when what it keeps may go

	// Under c.mu.
	seen     int         // matches so far
	hit      *conn       // where it hit; nil before
	open     bool        // HoldRequest, Delay, HoldReply: what is kept may go
	done     bool        // nothing is left to do
	reported bool        // the proof was sent, or fired was closed
	timer    *time.Timer // Delay
	proof    Proof
}

// Arm puts a rule in force, from the client's next request on. Of several rules that
// are due at one request the one armed first hits it, and the others hit their next
// match.
func (c *client) Arm(r Rule) (Shot, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s := &shot{rule: r, c: c, fired: make(chan Proof, 1), released: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return nil, fmt.Errorf("rule %v: %w", r, ErrClosed)
	}
	c.shots = append(c.shots, s)
	return s, nil
}

// Fired implements Shot.
func (s *shot) Fired() <-chan Proof { return s.fired }

// Release implements Shot.
func (s *shot) Release() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.release()
}

// Disarm implements Shot.
func (s *shot) Disarm() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.done {
		return false
	}
	fired := s.reported // HoldRequest fires before it is done
	s.release()
	s.retire()
	return !fired
}

// release opens the way for a kept request. The caller holds c.mu.
func (s *shot) release() {
	if s.open || s.hit == nil || s.done {
		return
	}
	s.open = true
	close(s.released)
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.rule.Act == HoldRequest || s.rule.Act == Delay {
		go s.hit.flush() // ends with the connection at the latest
	}
}

// fire sends the proof. The caller holds c.mu.
func (s *shot) fire(err error) {
	if s.reported {
		return
	}
	s.reported = true
	s.proof.Done, s.proof.Err = s.c.tap.now(), err
	s.fired <- s.proof
	close(s.fired)
}

// retire takes the rule out of force. The caller holds c.mu.
func (s *shot) retire() {
	s.done = true
	s.c.shots = slices.DeleteFunc(s.c.shots, func(o *shot) bool { return o == s })
	if !s.reported {
		s.reported = true
		close(s.fired)
	}
}

// match returns the rule that hits a request, or a notification, or nil. The caller holds
// c.mu.
func (k *conn) match(q sent, p []byte) *shot {
	var hit *shot
	for _, s := range k.c.shots {
		if s.hit != nil || !s.rule.matches(q.op, p) {
			continue
		}
		if s.seen++; hit == nil && s.seen >= s.rule.Nth {
			hit = s
		}
	}
	if hit != nil {
		hit.hit = k
		hit.proof = Proof{Rule: hit.rule, Client: k.c.number, Op: q.op, Path: string(p), Xid: q.xid,
			Session: k.c.session.ID, Matched: q.at}
	}
	return hit
}

// matchNotification returns the rule that hits the notification with that head, or nil.
// One that is kept comes again. The caller holds c.mu.
func (k *conn) matchNotification(head []byte) *shot {
	if s := k.kept; s != nil {
		k.kept = nil
		return s
	}
	s := k.match(sent{xid: notification, op: Notified, at: k.c.tap.now()}, notifiedPath(head))
	if s != nil && s.rule.Act == HoldReply {
		k.kept = s
	}
	return s
}
