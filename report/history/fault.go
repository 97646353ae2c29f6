package history

import "time"

// Window is a fault and the time in which it was active. It is recorded once the fault is healed.
type Window struct {
	Fault  string `json:"fault"`  // such as "session.close"
	Target string `json:"target"` // such as "client 17 (holder)" or "zk2 (leader)"
	Client int    `json:"client"` // the client that was hit; -1 for members
	// Served are the clients that a member continued to serve while it was isolated from the
	// others, which they could not know; the other clients in the process that was hit; or all
	// clients during an outage of the ensemble.
	Served []int         `json:"served,omitempty"`
	Start  time.Duration `json:"start"` // the call of Inject
	End    time.Duration `json:"end"`   // when it was healed; before Start if it never was
	Proof  string        `json:"proof,omitempty"`
	Err    string        `json:"err,omitempty"` // why its effect was not proven; empty if Proof is set
	// CutShort means that the phase ended during this repetition: it may have been injected,
	// without proof.
	CutShort bool `json:"cut_short,omitempty"`
	// Inapplicable means that the recipe does not allow the fault; Err is the reason.
	Inapplicable bool `json:"inapplicable,omitempty"`
}

// Struck describes a fault and its target, unless it never was active.
func Struck(fault, target string) string {
	if target == "" {
		return fault
	}
	return fault + " on " + target
}

type Recovered struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Fault   string        `json:"fault"`
	Healing time.Duration `json:"healing"` // start of healing
}

// Connections counts the connections that the members accepted, by their own counters.
type Connections struct {
	At    time.Duration `json:"at"`
	Phase string        `json:"phase"`
	Made  int64         `json:"made"`
	Over  time.Duration `json:"over"`
}
