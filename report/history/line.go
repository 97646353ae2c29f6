package history

import "time"

// Joined says that the harness has seen the client's node in the line.
type Joined struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Token   int64         `json:"token"` // czxid of the node
	Path    string        `json:"path"`
}

// Leaving says that the client is made to leave the line now; client -1, that the
// drill of this round is over.
type Leaving struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`
	Session int64         `json:"session,omitempty"`
	Token   int64         `json:"token,omitempty"`
	How     string        `json:"how,omitempty"` // resign, close, lose or expire
}

// Warning says that an observer saw too few candidates standing.
type Warning struct {
	At       time.Duration `json:"at"`
	Phase    string        `json:"phase"`
	Round    int           `json:"round"`
	Standing int           `json:"standing"`
	Below    int           `json:"below"` // as many should stand
}

// Emptied says that the harness saw the queue empty, after every put that has returned.
type Emptied struct {
	At    time.Duration `json:"at"`
	Phase string        `json:"phase"`
}

// Holds is what a client's recipe answered to the question whether it holds (its isOwner,
// isAcquired or hasLeadership), when the client had been notified that its session was lost and had
// not acquired since.
type Holds struct {
	Asked   time.Duration `json:"asked"`
	At      time.Duration `json:"at"` // when it answered
	Client  int           `json:"client"`
	Session int64         `json:"session"` // that was lost
	Holds   bool          `json:"holds"`
}
