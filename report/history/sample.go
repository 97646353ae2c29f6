package history

import (
	"errors"
	"fmt"
	"time"
)

// Outcome is the result of an operation.
type Outcome string

const (
	OK      Outcome = "ok"
	Failed  Outcome = "failed"  // it certainly had no effect
	Unknown Outcome = "unknown" // it may have had its effect
)

// Names of operations, as Sample.Op.
const (
	Acquire = "acquire" // a lock acquired, or a leadership won
	Release = "release" // of a lock, or a leader's resignation
	Put     = "put"
	Take    = "take"
	Write   = "write"  // to the fenced resource, under a grant
	Effect  = "effect" // a holder's write to an unfenced node, on its own session
)

// Sample is an operation of one client. Due, Call and Return count from the start of the trial on
// its monotonic clock.
type Sample struct {
	Client int           `json:"client"`
	Phase  string        `json:"phase,omitempty"`
	Round  int           `json:"round,omitempty"`
	Op     string        `json:"op"`
	Due    time.Duration `json:"due"`    // when it should have been called; latency counts from here
	Call   time.Duration `json:"call"`   // when it was called
	Return time.Duration `json:"return"` // when it returned
	// Clock is the possible error of the clock of the client's process: an acquire's Return is made
	// later by it, and a release's Call earlier, so that the error cannot create a belief.
	// Latencies use the reading.
	Clock   time.Duration `json:"clock,omitempty"`
	Outcome Outcome       `json:"outcome"`
	Token   int64         `json:"token,omitempty"`   // czxid of the grant's or item's node, or the subject's own number
	Own     bool          `json:"own,omitempty"`     // the token is the subject's own number
	Session int64         `json:"session,omitempty"` // session to which the grant is bound
	Path    string        `json:"path,omitempty"`    // of the grant's or item's node
	Item    string        `json:"item,omitempty"`    // queue: ID of the item
	Version int64         `json:"version,omitempty"` // write: the resource's version after the write
	// Zxid is the highest in any reply that had reached the client by then: it acted on no newer
	// state. 0 if unknown.
	Zxid int64 `json:"zxid,omitempty"`
	// Removed is the path of a deleted node of which the client was notified during the operation,
	// the last if there were several: the client knows of that transaction too.
	Removed string `json:"removed,omitempty"`
	Err     string `json:"err,omitempty"`
	// Limit is the caller's time limit for an acquire; 0 if none.
	Limit time.Duration `json:"limit,omitempty"`
	// Stuck: the operation had not returned a session timeout after the client was notified of the
	// loss of its session, the client had sent no request since, and zkbench closed it.
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
