package history

import "time"

// ClaimCheck is the observer's view of the node of a claimed grant, at some time between Asked
// and At. The claim was valid for all of that time.
type ClaimCheck struct {
	Asked   time.Duration `json:"asked"`
	At      time.Duration `json:"at"`
	Client  int           `json:"client"`
	Path    string        `json:"path"`
	Token   int64         `json:"token,omitempty"` // the node's czxid; 0 if it did not exist
	Session int64         `json:"session,omitempty"`
	Ahead   int           `json:"ahead,omitempty"` // ephemeral siblings older than the node
}

// Snapshot is the content of the contested parent for the whole time from Asked to At, and the clients
// that waited for all of it.
type Snapshot struct {
	Asked   time.Duration  `json:"asked"`
	At      time.Duration  `json:"at"`
	Path    string         `json:"path"`
	Queue   bool           `json:"queue,omitempty"` // the subject is a queue
	Nodes   []SnapshotNode `json:"nodes,omitempty"` // ephemeral ones
	Items   []SnapshotItem `json:"items,omitempty"` // of a queue
	Waiters []Waiter       `json:"waiters,omitempty"`
}

// SnapshotNode is a node in line.
type SnapshotNode struct {
	Path    string `json:"path"`
	Token   int64  `json:"token"` // its czxid
	Session int64  `json:"session"`
	Client  int    `json:"client"` // the client that was connected with the session; -1 if none
}

type SnapshotItem struct {
	Path  string `json:"path"`
	Token int64  `json:"token"`
}

// Waiter is a client that was in one acquire or take, connected with one session, for the whole
// time.
type Waiter struct {
	Client   int   `json:"client"`
	Session  int64 `json:"session"`
	Moved    int64 `json:"moved"`    // its requests, notifications and connections in that time, without pings
	InFlight int64 `json:"inflight"` // its requests without a reply
	// Behind means that the client's member lagged behind when the observation began: a
	// notification may still come.
	Behind bool `json:"behind,omitempty"`
	// Watches counts the watches of its session that a change in the line can trigger, on the
	// parent or on a node of it; Others the rest. nil if members do not report them.
	Watches *int64 `json:"watches,omitempty"`
	Others  int64  `json:"others,omitempty"`
}

// Step is a step of a subject's protocol that an audit has seen in calm episodes, with the faults
// that apply to it: a row of its matrix.
type Step struct {
	At     time.Duration `json:"at"`
	Step   string        `json:"step"`   // such as "next exists #1"; "all" is the line as a whole
	Faults []string      `json:"faults"` // that apply
}

// LostReply is a request whose reply never reached its client. The commits show the outcome: if it
// was executed, one has that session and cxid.
type LostReply struct {
	At      time.Duration `json:"at"` // when it was certain that no reply would come
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Cxid    int32         `json:"cxid"`    // the client's number of the request
	Request string        `json:"request"` // such as "create" or "delete"
	Sent    time.Duration `json:"sent"`
}
