package history

import "time"

// ClaimCheck is what the observer saw of the node by which a client claimed a grant,
// at some instant between Asked and At. The claim stood all the time.
type ClaimCheck struct {
	Asked   time.Duration `json:"asked"`
	At      time.Duration `json:"at"`
	Client  int           `json:"client"`
	Path    string        `json:"path"`
	Token   int64         `json:"token,omitempty"`   // the node's czxid; 0 if it was gone
	Session int64         `json:"session,omitempty"` // its owner
	Ahead   int           `json:"ahead,omitempty"`   // ephemeral children that are older than the node
}

// Snapshot is what stood at the contested parent all the time from Asked to At, and
// who waited all that time.
type Snapshot struct {
	Asked   time.Duration  `json:"asked"`
	At      time.Duration  `json:"at"`
	Path    string         `json:"path"`
	Queue   bool           `json:"queue,omitempty"` // the subject is a queue
	Nodes   []SnapshotNode `json:"nodes,omitempty"` // ephemeral ones: somebody's place in line
	Items   []SnapshotItem `json:"items,omitempty"` // of a queue
	Waiters []Waiter       `json:"waiters,omitempty"`
}

// SnapshotNode is a node in the line.
type SnapshotNode struct {
	Path    string `json:"path"`
	Token   int64  `json:"token"`   // its czxid
	Session int64  `json:"session"` // its owner
	Client  int    `json:"client"`  // that was connected with the session; -1 if none was
}

// SnapshotItem is an item in the queue.
type SnapshotItem struct {
	Path  string `json:"path"`
	Token int64  `json:"token"` // czxid of its node
}

// Waiter is a client that was in one acquire or take, connected with one session, all
// the time.
type Waiter struct {
	Client   int   `json:"client"`
	Session  int64 `json:"session"`
	Moved    int64 `json:"moved"`    // its requests, notifications and connections meanwhile, pings aside
	InFlight int64 `json:"inflight"` // its requests without a reply
	// Behind says that the member that serves it had not caught up with the others when the
	// observation began: a notification may still be under way.
	Behind bool `json:"behind,omitempty"`
	// Watches counts the watches of its session that a change in the line can fire, on
	// the parent or on a node of it; Others the rest. nil where the members do not tell.
	Watches *int64 `json:"watches,omitempty"`
	Others  int64  `json:"others,omitempty"`
}

// Step is a place in a subject's protocol that an audit has seen in calm episodes, and
// what can go wrong there: a row of its matrix.
type Step struct {
	At     time.Duration `json:"at"`
	Step   string        `json:"step"`   // "next exists #1"; "all" is no place, but the line as a whole
	Faults []string      `json:"faults"` // that fit it
}

// LostReply is a request whose reply never reached its client. The commits say what
// became of it: they have one of that session and cxid where it was carried out.
type LostReply struct {
	At      time.Duration `json:"at"` // when the reply was certain not to come
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Cxid    int32         `json:"cxid"`    // the client's number of the request
	Request string        `json:"request"` // "create", "delete", ...
	Sent    time.Duration `json:"sent"`
}
