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
	// DropReply lets the request reach the server and swallows the reply: only the
	// tap knows what the server did. Then the connection is cut, unless Rule.Keep.
	DropReply Act = iota + 1
	// DropRequest takes the request from the client, which believes it sent, and
	// never lets it reach the server. Then the connection is cut.
	DropRequest
	// CutBefore cuts the connection instead of sending the request: the client's
	// write fails.
	CutBefore
	// CutAfter cuts the connection as soon as the request is sent. No reply
	// reaches the client from the request on. Whether the server carries the request
	// out is not known; after DropReply it is.
	CutAfter
	// HoldRequest keeps the request, and everything that the client sends after
	// it, pings included, until Shot.Release. Replies go on.
	HoldRequest
	// Delay does the same for Rule.Delay, give or take Rule.Jitter.
	Delay
	// HoldReply keeps the reply, and everything that the server sends after it, until
	// Shot.Release. Requests go on. The client's read deadline goes on, too.
	HoldReply
	// CutReplied cuts the connection once the reply has reached the client.
	CutReplied
)

// String is the act in words.
func (a Act) String() string {
	names := [...]string{"", "drop-reply", "drop-request", "cut-before", "cut-after", "hold-request", "delay", "hold-reply", "cut-replied"}
	if a < DropReply || a > CutReplied {
		return fmt.Sprintf("act %d", int(a))
	}
	return names[a]
}

// onNotifications are the acts for rules whose Op is Notified: the notification is held,
// or the connection cut before or behind it.
var onNotifications = []Act{CutBefore, HoldReply, CutReplied}

// Rule aims an act at one request of a client, or at one notification.
type Rule struct {
	Op Op // Any: every opcode, pings too; AnyChange, AnyRead: several; Notified: notifications
	// Path is a pattern for the request's path, with the syntax of path.Match; one
	// that ends in "/**" matches all that is below. Empty matches every request,
	// with or without a path. A multi has the path of its first operation. Paths
	// are matched by their first 1024 bytes, those of notifications by their first 256.
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
	case r.Act < DropReply || r.Act > CutReplied:
		return fmt.Errorf("rule %v: no such act; use one of DropReply to CutReplied", r)
	case r.Op == Notified && !slices.Contains(onNotifications, r.Act):
		return fmt.Errorf("rule %v: a notification has no request; use one of %v", r, onNotifications)
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
	if !r.Op.covers(op) {
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

// Drawn returns the rule with its jitter drawn, so that it can be carried out elsewhere.
func (r Rule) Drawn() Rule {
	if r.Jitter > 0 && r.Random != nil {
		r.Delay, r.Jitter = max(r.after(), 1), 0
	}
	r.Random = nil
	return r
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
