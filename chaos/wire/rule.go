package wire

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Act is what a rule does to the request that it hits.
type Act int

// The acts.
const (
	// DropReply lets the request reach the server and swallows the reply: what
	// the server did is known to the tap, and to nobody else. Then the connection
	// is cut, unless Rule.Keep.
	DropReply Act = iota + 1
	// DropRequest takes the request from the client, which believes it sent, and
	// never lets it reach the server. Then the connection is cut.
	DropRequest
	// CutBefore cuts the connection instead of sending the request: the client's
	// write fails.
	CutBefore
	// CutAfter cuts the connection as soon as the request is sent. No reply
	// reaches the client from the request on. Whether the server still executes
	// it is up to the server: DropReply is the act that knows.
	CutAfter
	// HoldRequest keeps the request, and everything that the client sends after
	// it, pings included, until Shot.Release. Replies go on.
	HoldRequest
	// Delay does the same for Rule.Delay, give or take Rule.Jitter.
	Delay
)

// String is the act in words.
func (a Act) String() string {
	names := [...]string{"", "drop-reply", "drop-request", "cut-before", "cut-after", "hold-request", "delay"}
	if a < DropReply || a > Delay {
		return fmt.Sprintf("act %d", int(a))
	}
	return names[a]
}

// Rule aims an act at one request of a client.
type Rule struct {
	Op Op // Any: every opcode, pings too
	// Path is a pattern for the request's path, with the syntax of path.Match; one
	// that ends in "/**" matches all that is below. Empty matches every request,
	// with or without a path. A multi has the path of its first operation. Paths
	// are matched by their first 1024 bytes.
	Path string
	Nth  int // which match it hits, counted from Arm; 0 is the first, like 1
	Act  Act

	Keep   bool          // DropReply: the connection stays, and the client waits for ever
	Delay  time.Duration // Delay: how long
	Jitter time.Duration // Delay: at most so much more or less
	// Random picks a number in [0, n) for the jitter, from the run's seed.
	Random func(n int) int
}

// String is the rule in words: "drop-reply create /lock/* #2".
func (r Rule) String() string {
	s := r.Act.String() + " " + r.Op.String()
	if r.Path != "" {
		s += " " + r.Path
	}
	return fmt.Sprintf("%s #%d", s, max(r.Nth, 1))
}

func (r Rule) check() error {
	switch {
	case r.Act < DropReply || r.Act > Delay:
		return fmt.Errorf("rule %v: no such act; use one of DropReply to Delay", r)
	case r.Nth < 0:
		return fmt.Errorf("rule %v: the match to hit counts from 1", r)
	case r.Keep && r.Act != DropReply:
		return fmt.Errorf("rule %v: only drop-reply can keep the connection", r)
	case r.Act != Delay && (r.Delay != 0 || r.Jitter != 0):
		return fmt.Errorf("rule %v: a delay of %v and a jitter of %v need the act Delay", r, r.Delay, r.Jitter)
	case r.Act == Delay && (r.Delay <= 0 || r.Jitter < 0 || r.Jitter > r.Delay):
		return fmt.Errorf("rule %v: the delay %v must be over 0, and the jitter %v from 0 to the delay", r, r.Delay, r.Jitter)
	case r.Jitter > 0 && r.Random == nil:
		return fmt.Errorf("rule %v: a jitter needs Random, so that the seed decides", r)
	}
	if _, err := path.Match(r.Path, ""); err != nil {
		return fmt.Errorf("rule %v: path pattern %q: %w", r, r.Path, err)
	}
	return nil
}

func (r Rule) matches(op Op, p []byte) bool {
	if r.Op != Any && r.Op != op {
		return false
	}
	if r.Path == "" {
		return true
	}
	if under, ok := strings.CutSuffix(r.Path, "/**"); ok {
		return below(under, string(p))
	}
	ok, _ := path.Match(r.Path, string(p)) // the pattern was checked by Arm
	return ok
}

// below is true for a path at any depth under one that matches the pattern.
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
	ok, _ := path.Match(pattern, p[:end]) // the pattern was checked by Arm
	return ok && len(p) > end+1
}

// after is how long a delay is to last.
func (r Rule) after() time.Duration {
	if r.Jitter == 0 {
		return r.Delay
	}
	// In microseconds, which fit an int of 32 bits for half an hour.
	span := int(2*r.Jitter/time.Microsecond) + 1
	return r.Delay - r.Jitter + time.Duration(r.Random(span))*time.Microsecond
}

// Proof is what a rule did.
type Proof struct {
	Rule    Rule
	Client  int
	Op      Op
	Path    string        // of the request; at most 1024 bytes
	Xid     int32         // of the request
	Session int64         // that was connected
	Matched time.Duration // when the client handed the request over
	Done    time.Duration // when the act took effect

	Replied bool  // DropReply: the reply was seen, and swallowed
	Zxid    int64 // the reply's: of the transaction that it made, or the latest that the server knew
	Code    int32 // the reply's error code; 0 is success

	Err error // why the act could not be carried through after the match; nil when it was
}

// Committed is true when the server is known to have carried the request out.
func (p Proof) Committed() bool { return p.Replied && p.Code == 0 }

// String is the proof for people.
func (p Proof) String() string {
	s := fmt.Sprintf("%v hit %v", p.Rule, p.Op)
	if p.Path != "" {
		s += " " + p.Path
	}
	s += fmt.Sprintf(" xid %d of client %d at %v", p.Xid, p.Client, p.Matched)
	switch {
	case p.Err != nil:
		return s + fmt.Sprintf(", without effect: %v", p.Err)
	case p.Rule.Act == Delay:
		return s + fmt.Sprintf(", held it for %v", p.Done-p.Matched)
	case p.Replied && p.Code == 0:
		return s + fmt.Sprintf(", swallowed its success at zxid %#x", p.Zxid)
	case p.Replied:
		return s + fmt.Sprintf(", swallowed its error %d at zxid %#x", p.Code, p.Zxid)
	}
	return s
}

// Shot is an armed rule. It hits one request, once, on whichever connection of
// its client that comes.
type Shot struct {
	rule  Rule
	c     *Client
	fired chan Proof

	// Under c.mu.
	seen  int         // matches so far
	hit   *conn       // where it hit; nil before
	open  bool        // HoldRequest, Delay: the request may go
	done  bool        // nothing is left to do
	told  bool        // fired was sent to, or closed
	timer *time.Timer // Delay
	proof Proof
}

// Arm puts a rule in force, from the client's next request on. Where a request
// is one that several rules are due to hit, the one armed first does, and the
// others hit their next match.
func (c *Client) Arm(r Rule) (*Shot, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	s := &Shot{rule: r, c: c, fired: make(chan Proof, 1)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		return nil, fmt.Errorf("rule %v: %w", r, ErrClosed)
	}
	c.shots = append(c.shots, s)
	return s, nil
}

// Fired delivers the proof, once the act took effect: for HoldRequest once the
// request is kept, for Delay once it was sent, for DropReply once the reply was
// swallowed, and for all that cut, once the connection is. Then, and when the
// rule was disarmed, it is closed.
func (s *Shot) Fired() <-chan Proof { return s.fired }

// Release lets a request go that HoldRequest or Delay keeps.
func (s *Shot) Release() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.release()
}

// Disarm takes the rule out of force. A request that it keeps is released, a
// reply that it waits for will be delivered; a cut that only a hold puts off
// comes still. It returns false when the rule had fired already.
func (s *Shot) Disarm() bool {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if s.done {
		return false
	}
	fired := s.told // HoldRequest fires before it is done
	s.release()
	s.retire()
	return !fired
}

// release opens the way for a kept request. The caller holds c.mu.
func (s *Shot) release() {
	if s.open || s.hit == nil || s.done {
		return
	}
	s.open = true
	if s.timer != nil {
		s.timer.Stop()
	}
	if s.rule.Act == HoldRequest || s.rule.Act == Delay {
		go s.hit.flush() // ends with the connection at the latest
	}
}

// fire tells the proof. The caller holds c.mu.
func (s *Shot) fire(err error) {
	if s.told {
		return
	}
	s.told = true
	s.proof.Done, s.proof.Err = s.c.tap.now(), err
	s.fired <- s.proof
	close(s.fired)
}

// retire takes the rule out of force. The caller holds c.mu.
func (s *Shot) retire() {
	s.done = true
	s.c.shots = slices.DeleteFunc(s.c.shots, func(o *Shot) bool { return o == s })
	if !s.told {
		s.told = true
		close(s.fired)
	}
}

// aim returns the rule that hits a request, if any. The caller holds c.mu.
func (k *conn) aim(q *sent, p []byte) *Shot {
	var hit *Shot
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
