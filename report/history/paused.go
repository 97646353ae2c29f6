package history

import "time"

// Paused is a round in which a holder's process was stopped past its session timeout, while another
// client was granted, and then continued. The client's Write and Effect samples since then are its
// late writes: the first of each was about to be made when it was stopped.
type Paused struct {
	At      time.Duration `json:"at"` // when it was notified, or the wait ended
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`  // that was paused
	Next    int           `json:"next"`    // that was granted in that time
	Stopped time.Duration `json:"stopped"` // the signal to stop
	Granted time.Duration `json:"granted"` // return of the other client's grant
	Resumed time.Duration `json:"resumed"` // the signal to continue
	// Told is when it was notified that it no longer holds, and By how: an event (suspended, lost,
	// ended), or holds, its recipe's own answer. 0 if it was not notified.
	Told  time.Duration `json:"told,omitempty"`
	By    string        `json:"by,omitempty"`
	Holds string        `json:"holds,omitempty"` // the recipe's answer when it continued: yes, no; "" for none
}
