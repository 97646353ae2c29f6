package history

import "time"

// SessionEvent is the type of a session event.
type SessionEvent string

// The events of a session.
const (
	Opened    SessionEvent = "opened"    // Timeout is the granted value
	Suspended SessionEvent = "suspended" // client notified: connection lost, session state unknown
	Restored  SessionEvent = "restored"  // client notified: the same session, ownership checked
	Lost      SessionEvent = "lost"      // client notified: the session and every grant bound to it have ended
	Ended     SessionEvent = "ended"     // client notified: the grant has ended although the session lives: revoked, resigned
	Expired   SessionEvent = "expired"   // on the wire: a server's message of the expiry has reached the client
	Closed    SessionEvent = "closed"    // the client closed it
	Deadline  SessionEvent = "deadline"  // its deadline passed without a reply: belief ends as if suspended
	Killed    SessionEvent = "killed"    // the harness killed the client
)

// Session is an event of one client's session.
type Session struct {
	At      time.Duration `json:"at"`
	Event   SessionEvent  `json:"event"`
	Client  int           `json:"client"`
	Session int64         `json:"session,omitempty"`
	Token   int64         `json:"token,omitempty"`
	Timeout time.Duration `json:"timeout,omitempty"` // opened: negotiated
}
