package history

import "time"

// Connected says that the client's session stands, which it was told to open at Call.
type Connected struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Client int           `json:"client"`
	Call   time.Duration `json:"call"`
}

// Reconnected says that a session stands on another connection than before.
type Reconnected struct {
	At      time.Duration `json:"at"`
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Lost    time.Duration `json:"lost"` // when the connection before ended
}

// Footprint is what open sessions take in this process: what there was with them, less
// what there was before, each after a garbage collection.
type Footprint struct {
	At         time.Duration `json:"at"`
	Phase      string        `json:"phase"`
	Sessions   int64         `json:"sessions"`
	Heap       int64         `json:"heap"`   // bytes of live objects
	Stacks     int64         `json:"stacks"` // bytes of goroutines' stacks
	Goroutines int64         `json:"goroutines"`
}

// MemberLoad is what one member said of its load when it was asked (mntr).
type MemberLoad struct {
	At     time.Duration `json:"at"`
	Phase  string        `json:"phase"`
	Member string        `json:"member"`
	Err    string        `json:"err,omitempty"` // why it said nothing: then what it has is nil

	Opening     bool   `json:"opening,omitempty"`     // sessions were still being opened
	Outstanding *int64 `json:"outstanding,omitempty"` // requests that it had and that had not been answered
	Connections *int64 `json:"connections,omitempty"` // of clients
	// How long requests took since its counters were last set to 0, when the phase began or the
	// member was started. nil where nobody may set them to 0.
	LatencyMean *time.Duration `json:"latency_mean,omitempty"`
	LatencyMax  *time.Duration `json:"latency_max,omitempty"`
}
