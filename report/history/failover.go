package history

import "time"

// Failover is a round of a failover: the cause, the times of the steps until the next grant, and
// the prediction. A time of 0 was not seen.
type Failover struct {
	At      time.Duration `json:"at"` // when all of it was known
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Cause   string        `json:"cause"`
	Client  int           `json:"client"` // the holder
	Session int64         `json:"session"`
	Token   int64         `json:"token"`
	Path    string        `json:"path"`
	Timeout time.Duration `json:"timeout"`

	Injected  time.Duration `json:"injected"`
	Heard     time.Duration `json:"heard,omitempty"`     // the holder sent its last request that the servers are known to have received
	Expired   time.Duration `json:"expired,omitempty"`   // the leader expired the session
	Committed time.Duration `json:"committed,omitempty"` // the first member removed the node
	Woken     time.Duration `json:"woken,omitempty"`     // the notification reached the next client
	Granted   time.Duration `json:"granted,omitempty"`   // the next grant returned
	Next      int           `json:"next"`                // the client that was granted next; -1 if none
	Suspended time.Duration `json:"suspended,omitempty"` // the holder was notified of suspension or loss
	Restored  time.Duration `json:"restored,omitempty"`  // the holder was notified that it still holds: there was no hand-off

	Least   time.Duration `json:"least"`
	Most    time.Duration `json:"most"`
	Mean    time.Duration `json:"mean,omitempty"`    // average; 0 without a formula
	Expires bool          `json:"expires,omitempty"` // the session must expire first
}
