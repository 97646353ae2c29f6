package history

import (
	"errors"
	"fmt"
	"time"
)

// Outcome says how an operation ended.
type Outcome string

// The outcomes. An operation whose reply was lost is Unknown, never Failed.
const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"  // it certainly had no effect
	Unknown Outcome = "unknown" // it may have had its effect
)

// Names of operations, as Sample.Op.
const (
	Acquire = "acquire" // a lock acquired, or a leadership won by campaigning
	Release = "release" // let go; also resign
	Put     = "put"
	Take    = "take"
	Write   = "write"  // to the fenced resource, under a grant
	Effect  = "effect" // a holder's write to a node that nothing fences, on its own session
)

// Sample is one operation of one client. Due, Call and Return count from the
// start of the trial on its one monotonic clock.
type Sample struct {
	Client int           `json:"client"`
	Phase  string        `json:"phase,omitempty"`
	Round  int           `json:"round,omitempty"`
	Op     string        `json:"op"`
	Due    time.Duration `json:"due"`    // when it should have been called; latency counts from here
	Call   time.Duration `json:"call"`   // when it was called
	Return time.Duration `json:"return"` // when it returned
	// Clock is by how much the clock of the client's process may be wrong: for so much an
	// acquire's Return is later than that read, and a release's Call earlier, so that nobody
	// counts as a holder whom only a clock makes one. Latencies are of what it read.
	Clock   time.Duration `json:"clock,omitempty"`
	Outcome Outcome       `json:"outcome"`
	Token   int64         `json:"token,omitempty"`   // czxid of the grant's or item's node, or a number of the subject's own
	Own     bool          `json:"own,omitempty"`     // the token is a number of the subject's own
	Session int64         `json:"session,omitempty"` // session id that the grant is bound to
	Path    string        `json:"path,omitempty"`    // of the grant's or item's node
	Item    string        `json:"item,omitempty"`    // queue: identity of the item
	Version int64         `json:"version,omitempty"` // write: version of the resource that the write made
	// Zxid is the highest in any reply that the client had been sent by then: it acted on
	// no newer state. 0 where it is not known.
	Zxid int64 `json:"zxid,omitempty"`
	// Removed is the path of a node of whose removal the client was notified during the
	// operation, the last if there were several: it may know of that, too.
	Removed string `json:"removed,omitempty"`
	Err     string `json:"err,omitempty"`
	// Limit is the time limit that the caller gave an acquire; 0 if none.
	Limit time.Duration `json:"limit,omitempty"`
	// Stuck: the operation had not returned a session timeout after the client was notified that its
	// session was lost, the client had sent no request since, and zkbench closed it.
	Stuck bool `json:"stuck,omitempty"`
}

func (s *Sample) check() error {
	switch s.Outcome {
	case OK, Failed, Unknown:
	default:
		return fmt.Errorf("sample with outcome %q, want %q, %q or %q", s.Outcome, OK, Failed, Unknown)
	}
	if s.Op == "" {
		return errors.New("sample without op")
	}
	if s.Return < s.Call {
		return fmt.Errorf("sample that returned (%v) before it was called (%v)", s.Return, s.Call)
	}
	if s.Due < -longest || s.Due > longest {
		return fmt.Errorf("sample that was due at %v: a trial takes at most %v", s.Due, longest)
	}
	return nil
}
