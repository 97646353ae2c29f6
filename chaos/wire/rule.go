package wire

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// Act is the action of a rule on the request that it matches.
type Act int

// The acts.
const (
	// DropReply lets the request reach the server and drops the reply: only the tap knows the
	// outcome. Then the connection is cut, unless Rule.Keep.
	DropReply Act = iota + 1
	// DropRequest accepts the request from the client and does not send it to the server. Then the
	// connection is cut.
	DropRequest
	// CutBefore cuts the connection instead of sending the request: the client's write fails.
	CutBefore
	// CutAfter cuts the connection once the request is sent. No further reply reaches the client.
	// Unlike after DropReply, the outcome is unknown.
	CutAfter
	// HoldRequest keeps the request, and everything that the client sends after it, with pings,
	// until Shot.Release. Replies pass.
	HoldRequest
	// Delay does the same for Rule.Delay, plus or minus Rule.Jitter.
	Delay
	// HoldReply keeps the reply, and everything that the server sends after it, until Shot.Release.
	// Requests pass. The client's read deadline can expire.
	HoldReply
	// CutReplied cuts the connection once the reply has reached the client.
	CutReplied
)

func (a Act) String() string {
	names := [...]string{"", "drop-reply", "drop-request", "cut-before", "cut-after", "hold-request", "delay", "hold-reply", "cut-replied"}
	if a < DropReply || a > CutReplied {
		return fmt.Sprintf("act %d", int(a))
	}
	return names[a]
}

// onNotifications are the acts for rules whose Op is Notified: the notification is held, or the
// connection is cut before or after it.
var onNotifications = []Act{CutBefore, HoldReply, CutReplied}

type Rule struct {
	Op Op // Any: every opcode with pings; AnyChange, AnyRead: several; Notified: notifications
	// Path is a pattern for the request's path, with the syntax of path.Match; a pattern that ends in
	// "/**" matches all descendants. Empty matches every request, with or without a path. A multi
	// has the path of its first operation. Only the first 1024 bytes of a path are matched, 256 for
	// notifications.
	Path string
	Nth  int
	Act  Act

	Keep   bool          // DropReply: the connection stays, and the client waits forever
	Delay  time.Duration // Delay: duration
	Jitter time.Duration // Delay: largest deviation
	// Random returns a number in [0, n) for the jitter, from the run's seed.
	Random func(n int) int
}

// String returns the rule as text: "drop-reply create /lock/* #2".
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

// Drawn returns the rule with a fixed jitter, so that another process can arm it.
func (r Rule) Drawn() Rule {
	if r.Jitter > 0 && r.Random != nil {
		r.Delay, r.Jitter = max(r.after(), 1), 0
	}
	r.Random = nil
	return r
}

// after returns the duration of the delay.
func (r Rule) after() time.Duration {
	if r.Jitter == 0 {
		return r.Delay
	}
	// In microseconds, which fit 32 bits for half an hour.
	span := int(2*r.Jitter/time.Microsecond) + 1
	return r.Delay - r.Jitter + time.Duration(r.Random(span))*time.Microsecond
}
