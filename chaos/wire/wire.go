// Package wire taps client connections and parses ZooKeeper's frames.
//
// A [Tap] has one [Client] for each client of a trial; its Dial method is the dialer for go-zookeeper:
//
//	tap := wire.New(clock)
//	client := tap.Client(17)
//	conn, _, err := zk.Connect(servers, timeout, zk.WithDialer(client.Dial))
//
// The tap counts the client's traffic in both directions, knows its session (ID, password, negotiated
// timeout, the last acknowledged request), and controls its connections: [Client.Cut],
// [Client.SetGateClosed], [Client.Hold] and [Client.EndHold]. A [Rule] acts on one request: it can drop the
// reply to the second create below /locks, and the [Proof] shows whether the create was committed.
//
// The tap never changes a byte. It forwards data that it cannot parse, such as four-letter words.
// It works with any ZooKeeper client that uses a net.Conn, but not with encrypted connections.
package wire

import (
	"context"
	"fmt"
	"net"
	"time"
)

// Known is the servers' state as far as a client can know it.
type Known struct {
	// Zxid is the highest zxid in any reply or notification that has reached the client; 0 before the
	// first. While a server applies a transaction, it can answer a read with the new state and the
	// previous zxid; the Stat of the reply, if any, has the new zxid.
	Zxid int64
	// Removed is the path in the latest notification of a deleted node, and RemovedAt the time of that
	// notification. Before version 3.9 a notification has no zxid.
	Removed   string
	RemovedAt time.Duration
	// ChangedAt is the time of the latest notification of changed children that had no zxid: the client may
	// know of one transaction after Zxid.
	ChangedAt time.Duration
	// Notified means that a notification has arrived since the last reply: the client may know of later commits.
	Notified bool
}

func (c *client) Known() Known { return snapshot(c, &c.known) }

// Upstream is the way from a tap to the servers. If Dial is nil, connections are made without TLS.
type Upstream struct {
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Digest is user:password of the scheme digest, with which [Session.CloseAt] authenticates; ""
	// for none. Clients authenticate themselves.
	Digest string
}

// SetUpstream sets the way to the servers. Set it before the first Dial.
func (t *Tap) SetUpstream(w Upstream) { t.upstream = w }

func (w Upstream) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if w.Dial == nil {
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}
	return w.Dial(ctx, network, addr)
}

// authXid is the xid of an authentication request in ZooKeeper's own clients.
const authXid = -4

// authRequest returns the frame with which a session authenticates; nil without a Digest.
func (w Upstream) authRequest() []byte {
	if w.Digest == "" {
		return nil
	}
	const packetType = int32(0) // always
	return encode(int32(authXid), Auth, packetType, []byte("digest"), []byte(w.Digest))
}

// Proof describes the request or notification that a [Rule] has matched, and the effect of its action.
type Proof struct {
	Rule    Rule
	Client  int
	Op      Op
	Path    string
	Xid     int32         // of the request
	Session int64         // of the connection
	Matched time.Duration // when the client sent the request
	Done    time.Duration // when the act took effect

	Replied bool  // DropReply: the reply was seen and dropped
	Zxid    int64 // of the reply: the zxid of its transaction, or the latest known to the server
	Code    int32 // the reply's error code; 0 is success

	Err error // why the act could not be completed after the match, or nil
}

// Committed reports whether the server is known to have executed the request.
func (p Proof) Committed() bool { return p.Replied && p.Code == 0 }

func (p Proof) String() string {
	s := fmt.Sprintf("%v matched %v", p.Rule, p.Op)
	if p.Path != "" {
		s += " " + p.Path
	}
	s += fmt.Sprintf(" xid %d of client %d at %v", p.Xid, p.Client, p.Matched)
	switch {
	case p.Err != nil:
		return s + fmt.Sprintf(", without effect: %v", p.Err)
	case p.Replied && p.Code == 0:
		return s + fmt.Sprintf(", dropped its reply: success at zxid %#x", p.Zxid)
	case p.Replied:
		return s + fmt.Sprintf(", dropped its reply: error %d at zxid %#x", p.Code, p.Zxid)
	}
	return s
}
