package history

import "time"

// Failover is one round of a failover: what was done to the holder, what was seen on
// the way to the next grant, and what was predicted. An instant that was not seen is 0.
type Failover struct {
	At      time.Duration `json:"at"` // when all of it was known
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Cause   string        `json:"cause"`
	Client  int           `json:"client"` // the holder
	Session int64         `json:"session"`
	Token   int64         `json:"token"`
	Path    string        `json:"path"`
	Timeout time.Duration `json:"timeout"` // of the holder's session, negotiated

	Injected  time.Duration `json:"injected"`            // the call of release or close, or of the fault's injection
	Heard     time.Duration `json:"heard,omitempty"`     // the holder sent the last thing that the servers are known to have heard
	Expired   time.Duration `json:"expired,omitempty"`   // the leader let the session run out
	Committed time.Duration `json:"committed,omitempty"` // the first member had removed the node
	Woken     time.Duration `json:"woken,omitempty"`     // the notification reached the next client
	Granted   time.Duration `json:"granted,omitempty"`   // the next grant returned
	Next      int           `json:"next"`                // the client that was granted next; -1 if none
	Suspended time.Duration `json:"suspended,omitempty"` // the holder learned that it may not hold any more
	Restored  time.Duration `json:"restored,omitempty"`  // the holder learned that it still holds: nothing was passed on

	Least   time.Duration `json:"least"`             // predicted, from the injection
	Most    time.Duration `json:"most"`              // predicted
	Mean    time.Duration `json:"mean,omitempty"`    // predicted over many; 0 where no formula says
	Expires bool          `json:"expires,omitempty"` // the session must expire first
}
