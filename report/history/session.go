package history

import "time"

// SessionEvent is what happened to a session.
type SessionEvent string

// The events of a session.
const (
	Opened    SessionEvent = "opened"    // the client has it: Timeout is what the servers granted
	Suspended SessionEvent = "suspended" // delivered to the client: connection lost, session unknown
	Restored  SessionEvent = "restored"  // delivered: the same session, ownership checked
	Lost      SessionEvent = "lost"      // delivered: the session, and every grant bound to it, is gone
	Ended     SessionEvent = "ended"     // delivered: the grant is over although the session lives: revoked, resigned
	Expired   SessionEvent = "expired"   // on the wire: the servers' word that it is gone has reached the client
	Closed    SessionEvent = "closed"    // the client closed it
	Deadline  SessionEvent = "deadline"  // its own deadline passed unheard: belief ends as if suspended
	Killed    SessionEvent = "killed"    // the harness killed the client
)

// Session is an event of one client's session.
type Session struct {
	At      time.Duration `json:"at"`
	Event   SessionEvent  `json:"event"`
	Client  int           `json:"client"`
	Session int64         `json:"session,omitempty"`
	Token   int64         `json:"token,omitempty"`   // of the grant that the event is about
	Timeout time.Duration `json:"timeout,omitempty"` // opened: negotiated
}
