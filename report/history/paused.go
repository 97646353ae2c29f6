package history

import "time"

// Paused is a round in which a holder's process was stopped past its session, while another
// client was granted, and then went on as if nothing had happened. The round's Write and
// Effect samples of the client, called since it went on, are what it did: the first of each
// is what it was about to do when it was stopped.
type Paused struct {
	At      time.Duration `json:"at"` // when it was told, or nobody waited any longer
	Phase   string        `json:"phase"`
	Round   int           `json:"round"`
	Client  int           `json:"client"`  // that was paused
	Next    int           `json:"next"`    // that was granted meanwhile
	Stopped time.Duration `json:"stopped"` // the signal to stop
	Granted time.Duration `json:"granted"` // the other's grant returned
	Resumed time.Duration `json:"resumed"` // the signal to go on
	// Told is when it learned that it holds no more, and By what told it: an event
	// (suspended, lost, ended), or holds, its recipe's own answer. 0 where nothing did.
	Told  time.Duration `json:"told,omitempty"`
	By    string        `json:"by,omitempty"`
	Holds string        `json:"holds,omitempty"` // what the recipe said as it went on: yes, no; "" where it does not say
}
