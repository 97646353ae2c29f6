// Package wire taps client connections and parses ZooKeeper's frames.
//
// A [Tap] has one [Client] for each client of a trial; its Dial method is the dialer for
// go-zookeeper:
//
//	tap := wire.New(clock)
//	client := tap.Client(17)
//	conn, _, err := zk.Connect(servers, timeout, zk.WithDialer(client.Dial))
//
// The tap counts the client's traffic in both directions, knows its session (ID, password, negotiated
// timeout, the last acknowledged request), and controls its connections: [Client.Cut],
// [Client.Gate], [Client.Hold] and [Client.Thaw]. A [Rule] acts on one request: it can drop the
// reply to the second create below /locks, and the [Proof] tells whether the create was committed.
//
// The tap never changes a byte. It forwards data that it cannot parse, such as four-letter words.
// It works with any ZooKeeper client that uses a net.Conn, but not with encrypted connections.
//
// [Session.CloseAt] takes a session over and closes it, and [Renumber] shifts the sequence numbers
// that a client sees.
package wire
