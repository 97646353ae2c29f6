package history

import "time"

// Connected means that a client has opened its session, which was requested at Call.
type Connected struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Client int           `json:"client"`
	Call   time.Duration `json:"call"`
}

// Reconnected means that a session has moved to another connection.
type Reconnected struct {
	At      time.Duration `json:"at"`
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Lost    time.Duration `json:"lost"` // end of the previous connection
}

// Footprint is the memory of open sessions in this process: the difference to before they were
// opened, each after a garbage collection.
type Footprint struct {
	At         time.Duration `json:"at"`
	Phase      string        `json:"phase"`
	Sessions   int64         `json:"sessions"`
	Heap       int64         `json:"heap"`
	Stacks     int64         `json:"stacks"`
	Goroutines int64         `json:"goroutines"`
}

// MemberLoad is a member's reply to a query of its load (mntr).
type MemberLoad struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Member string        `json:"member"`
	Err    string        `json:"err,omitempty"` // the reason for its absence; the other fields are then nil

	Opening     bool   `json:"opening,omitempty"`     // sessions were still being opened
	Outstanding *int64 `json:"outstanding,omitempty"` // requests without a reply
	Connections *int64 `json:"connections,omitempty"` // of clients
	// Latency of requests since the member's counters were reset, when the phase began or the
	// member was started. nil if they cannot be reset.
	LatencyMean *time.Duration `json:"latency_mean,omitempty"`
	LatencyMax  *time.Duration `json:"latency_max,omitempty"`
}
