package history

import "time"

// Window is a fault and the time in which it was in force. It is recorded once the
// fault is healed.
type Window struct {
	Fault  string `json:"fault"`  // "session.close"
	Target string `json:"target"` // "client 17 (holder)", "zk2 (leader)"
	Client int    `json:"client"` // the client that it hit; -1 for members
	// Served are the clients that a member went on serving while it was cut off from
	// the others: they could not know. Or those in the process that was hit, beside Client.
	Served []int         `json:"served,omitempty"`
	Start  time.Duration `json:"start"` // the call to Inject
	End    time.Duration `json:"end"`   // healed; before Start if it never was
	Proof  string        `json:"proof,omitempty"`
	Err    string        `json:"err,omitempty"` // why it had no proven effect; empty when Proof is set
	// CutShort says that it is a repetition which the end of the phase overtook: it may have
	// struck, and nothing proves it.
	CutShort bool `json:"cut_short,omitempty"`
	// Inapplicable reports that the recipe does not allow the fault; Err is the reason.
	Inapplicable bool `json:"inapplicable,omitempty"`
}

// Struck names a fault and what it hit: one that never was in force hit nothing.
func Struck(fault, target string) string {
	if target == "" {
		return fault
	}
	return fault + " on " + target
}

// Recovered says that the ensemble is whole again after a fault: all members serve,
// one leads, and a write was seen by each.
type Recovered struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Fault   string        `json:"fault"`
	Healing time.Duration `json:"healing"` // when healing began
}

// Connections counts the connections that the members took, by their own counters.
type Connections struct {
	At    time.Duration `json:"at"`
	Phase string        `json:"phase"`
	Made  int64         `json:"made"`
	Over  time.Duration `json:"over"` // the time in which they were made, up to At
}
