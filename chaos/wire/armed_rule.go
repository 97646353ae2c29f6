package wire

import (
	"fmt"
	"slices"
	"time"
)

// ArmedRule is an armed rule. It matches one request, once, on any connection of its client.
type ArmedRule interface {
	// Fired delivers the proof once the act took effect: for HoldRequest and HoldReply when the
	// request or reply is kept, for Delay when it was sent, for DropReply when the reply was
	// dropped, and for acts that cut, when the connection is. Then, or when the rule is disarmed,
	// it is closed.
	Fired() <-chan Proof
	// Release releases a request that HoldRequest or Delay keeps, or a reply that HoldReply keeps.
	Release()
	// Disarm disarms the rule. A kept request is released, a reply that it waits for will be
	// delivered; a cut that a hold delays still happens. It returns false if the rule had fired
	// already.
	Disarm() bool
}

// shot is an armed rule of a client in this process.
type shot struct {
	rule     Rule
	c        *client
	fired    chan Proof
	released chan struct{} // closed when the held data may pass

	// Under c.mu.
	seen     int   // matches so far
	hit      *conn // connection of the match, or nil
	open     bool  // HoldRequest, Delay, HoldReply: released
	done     bool
	reported bool        // the proof was sent, or fired was closed
	timer    *time.Timer // Delay
	proof    Proof
}

// Arm arms a rule, from the client's next request on. If several rules match a request, the one
// armed first applies, and the others wait for their next match.
func (c *client) Arm(r Rule) (ArmedRule, error) {
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

// release forwards the data that the rule holds. The caller holds c.mu.
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
		go s.hit.flush() // ends at the latest with the connection
	}
}

func (s *shot) fire(err error) {
	if s.reported {
		return
	}
	s.reported = true
	s.proof.Done, s.proof.Err = s.c.tap.now(), err
	s.fired <- s.proof
	close(s.fired)
}

func (s *shot) retire() {
	s.done = true
	s.c.shots = slices.DeleteFunc(s.c.shots, func(o *shot) bool { return o == s })
	if !s.reported {
		s.reported = true
		close(s.fired)
	}
}

// match returns the rule that matches a request or a notification, or nil. The caller holds c.mu.
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

// matchNotification returns the rule that matches the notification with that head, or nil. A kept
// notification is seen again. The caller holds c.mu.
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
