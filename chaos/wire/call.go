package wire

import (
	"errors"
	"time"
)

// errSwallowed is the error of a call whose reply a rule has swallowed.
var errSwallowed = errors.New("the reply was swallowed by a rule of the wire tap")

// Call is one request of a client, and what became of it. Pings are calls, handshakes
// are not.
type Call struct {
	Client  int
	Session int64 // the connection's; 0 before the server accepted one
	Op      Op
	Path    string // at most 1024 bytes; of a multi, that of its first operation
	Xid     int32  // the client's number for the request: the cxid in the servers' logs

	Sent    time.Duration // when the client sent it, on the run's clock
	Replied time.Duration // when the reply reached the tap
	Zxid    int64         // the reply's: of the transaction that it made, or the latest that the server knew
	Code    int32         // the reply's error code; 0 is success

	// Err is why no reply reached the client: the connection ended, or a rule swallowed
	// the reply. A swallowed reply has been read: Replied, Zxid and Code are its. Else
	// they are 0.
	Err error
}

// OnCall sets the function that is called with each call, once it is over. Set it before
// the first Dial. For one client the calls come one at a time, in the order of their
// replies. f is called while the client is locked: it must return soon, and must not
// call the tap.
func (t *Tap) OnCall(f func(Call)) { t.onCall = f }

// Known is what a client can know of the servers' state: it acts on nothing newer.
type Known struct {
	Zxid int64 // the highest in any reply that has reached it; 0 before the first
	// Removed is the path of the node of whose removal it was notified last, and
	// RemovedAt when. Before version 3.9 a notification has no zxid.
	Removed   string
	RemovedAt time.Duration
}

// Known returns what the client can know now.
func (c *Client) Known() Known {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.known
}

// called reports that a request is over, where somebody asks. reply is the head of its
// reply, nil where none came; err is why the client got none. The caller holds c.mu.
func (c *Client) called(s sent, reply []byte, err error) {
	if s.extra == nil || s.extra.call == nil {
		return
	}
	call := *s.extra.call
	if reply != nil {
		call.Replied, call.Zxid, call.Code = c.tap.now(), int64At(reply, 4), int32At(reply, 12)
	}
	call.Err = err
	c.tap.onCall(call)
}
