package history

import "time"

// Joined means that the harness has seen the client's node in the line.
type Joined struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`
	Session int64         `json:"session"`
	Token   int64         `json:"token"` // czxid of the node
	Path    string        `json:"path"`
}

// Leaving means that the client is made to leave the line now; client -1, that the round is over.
type Leaving struct {
	At      time.Duration `json:"at"`
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`
	Session int64         `json:"session,omitempty"`
	Token   int64         `json:"token,omitempty"`
	How     string        `json:"how,omitempty"` // resign, close, lose or expire
}

// Warning means that an observer saw too few candidates.
type Warning struct {
	At       time.Duration `json:"at"`
	Phase    string        `json:"phase"`
	Round    int           `json:"round"`
	Standing int           `json:"standing"`
	Below    int           `json:"below"` // the minimum number of candidates
}

// Emptied means that the harness saw the queue empty after every put had returned.
type Emptied struct {
	At    time.Duration `json:"at"`
	Phase string        `json:"phase"`
}

// Holds is a recipe's answer to whether its client holds (its isOwner, isAcquired or
// hasLeadership), when the client had been notified of the loss of its session and had not acquired
// since.
type Holds struct {
	Asked   time.Duration `json:"asked"`
	At      time.Duration `json:"at"` // time of the answer
	Client  int           `json:"client"`
	Session int64         `json:"session"` // that was lost
	Holds   bool          `json:"holds"`
}
