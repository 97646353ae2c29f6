package wire

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

type Act int

const (
	// DropReply lets the request reach the server and drops the reply: only the tap knows the
	// outcome. Then the connection is cut, unless Rule.Keep.
	DropReply Act = iota + 1
	// DropRequest accepts the request from the client and does not send it to the server. Then the
	// connection is cut.
	DropRequest
	// CutBefore cuts the connection instead of sending the request: the client's write fails.
	CutBefore
	// HoldRequest keeps the request, and everything that the client sends after it, with pings,
	// until ArmedRule.Release. Replies pass.
	HoldRequest
	// HoldReply keeps the reply, and everything that the server sends after it, until ArmedRule.Release.
	// Requests pass. The client's read deadline can expire.
	HoldReply
	// CutReplied cuts the connection once the reply has reached the client.
	CutReplied
)

func (a Act) String() string {
	return [...]string{"", "drop-reply", "drop-request", "cut-before", "hold-request", "hold-reply", "cut-replied"}[a]
}

// Rule selects one request or notification of a client, the Nth that matches Op and Path, and the action on
// it. An Nth of 0 means 1. [Client] arms rules with Arm.
type Rule struct {
	Op Op // Any: every opcode with pings; AnyChange, AnyRead: several; Notified: notifications, with CutBefore, HoldReply or CutReplied
	// Path is a pattern for the request's path, with the syntax of path.Match; a pattern that ends in "/**"
	// matches all descendants. Empty matches every request, with or without a path. A multi has the path of
	// its first operation. Only the first 1024 bytes of a path are matched, 256 for notifications.
	Path string
	Nth  int
	Act  Act
	Keep bool // DropReply: the connection stays, and the client waits forever
}

// String returns the rule as text: "drop-reply create /lock/* #2".
func (r Rule) String() string {
	s := r.Act.String() + " " + r.Op.String()
	if r.Path != "" {
		s += " " + r.Path
	}
	return fmt.Sprintf("%s #%d", s, max(r.Nth, 1))
}

func (r Rule) matches(op Op, p []byte) bool {
	if !r.Op.covers(op) {
		return false
	}
	if r.Path == "" {
		return true
	}
	if under, ok := strings.CutSuffix(r.Path, "/**"); ok {
		return below(under, string(p))
	}
	ok, _ := path.Match(r.Path, string(p)) // Arm has checked the pattern
	return ok
}

func below(pattern, p string) bool {
	if pattern == "" {
		return len(p) > 1
	}
	end := 0
	for range strings.Count(pattern, "/") {
		next := strings.IndexByte(p[end+1:], '/')
		if next < 0 {
			return false
		}
		end += 1 + next
	}
	ok, _ := path.Match(pattern, p[:end]) // Arm has checked the pattern
	return ok && len(p) > end+1
}

// ArmedRule is an armed rule. It matches one request, once, on any connection of its client.
type ArmedRule interface {
	// Fired delivers the proof once the act took effect: when a held message is kept, a reply was dropped, or the
	// connection was cut. Then, or when the rule is disarmed, the channel is closed.
	Fired() <-chan Proof
	// Release releases a request that HoldRequest keeps, or a reply that HoldReply keeps.
	Release()
	// Disarm disarms the rule. A kept request is released, a reply that the rule waits for will be
	// delivered; a cut that a hold delays still happens. It returns false if the rule had fired already.
	Disarm() bool
}

type armedRule struct {
	rule     Rule
	c        *client
	fired    chan Proof
	released chan struct{} // closed when the held data may pass

	// Under c.mu.
	seen        int   // matches so far
	matchedConn *conn // connection of the match, or nil
	isReleased  bool  // HoldRequest, HoldReply: released
	done        bool
	reported    bool // the proof was sent, or fired was closed
	proof       Proof
}

// Arm arms a rule, from the client's next request on. If several rules match a request, the rule
// armed first applies, and the others wait for their next match.
func (c *client) Arm(r Rule) (ArmedRule, error) {
	if _, err := path.Match(r.Path, ""); err != nil {
		return nil, fmt.Errorf("rule %v: path pattern %q: %w", r, r.Path, err)
	}
	s := &armedRule{rule: r, c: c, fired: make(chan Proof, 1), released: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, fmt.Errorf("rule %v: %w", r, ErrClosed)
	}
	c.armedRules = append(c.armedRules, s)
	return s, nil
}

func (s *armedRule) Fired() <-chan Proof { return s.fired }

func (s *armedRule) Release() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.release()
}

func (s *armedRule) Disarm() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.done {
		return false
	}
	fired := s.reported // a HoldRequest rule fires before it is done
	s.release()
	s.retire()
	return !fired
}

// release forwards the data that the rule holds. The caller holds c.mu.
func (s *armedRule) release() {
	if s.isReleased || s.matchedConn == nil || s.done {
		return
	}
	s.isReleased = true
	close(s.released)
	if s.rule.Act == HoldRequest {
		go s.matchedConn.flush() // ends at the latest with the connection
	}
}

func (s *armedRule) fire(err error) {
	if s.reported {
		return
	}
	s.reported = true
	s.proof.Done, s.proof.Err = s.c.tap.now(), err
	s.fired <- s.proof
	close(s.fired)
}

func (s *armedRule) retire() {
	s.done = true
	s.c.armedRules = slices.DeleteFunc(s.c.armedRules, func(o *armedRule) bool { return o == s })
	if !s.reported {
		s.reported = true
		close(s.fired)
	}
}

// match returns the rule that matches a request or a notification, or nil. The caller holds c.mu.
func (k *conn) match(q pendingRequest, p []byte) *armedRule {
	var hit *armedRule
	for _, s := range k.c.armedRules {
		if s.matchedConn != nil || !s.rule.matches(q.op, p) {
			continue
		}
		if s.seen++; hit == nil && s.seen >= s.rule.Nth {
			hit = s
		}
	}
	if hit != nil {
		hit.matchedConn = k
		hit.proof = Proof{Rule: hit.rule, Client: k.c.number, Op: q.op, Path: string(p), Xid: q.xid,
			Session: k.c.session.ID, Matched: q.at}
	}
	return hit
}

// matchNotification returns the rule that matches the notification with that head, or nil. A kept
// notification is seen again. The caller holds c.mu.
func (k *conn) matchNotification(head []byte) *armedRule {
	if s := k.notificationRule; s != nil {
		k.notificationRule = nil
		return s
	}
	s := k.match(pendingRequest{xid: notification, op: Notified, at: k.c.tap.now()}, notifiedPath(head))
	if s != nil && s.rule.Act == HoldReply {
		k.notificationRule = s
	}
	return s
}
