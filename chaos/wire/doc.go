// Package wire taps client connections and understands ZooKeeper's frames.
//
// A [Tap] has one [Client] for each client of a trial; its Dial method is the
// dialer that go-zookeeper connects with:
//
//	tap := wire.New(clock)
//	client := tap.Client(17)
//	conn, _, err := zk.Connect(servers, timeout, zk.WithDialer(client.Dial))
//
// From then on the tap counts what the client sends and receives, knows its
// session (id, password, negotiated timeout, the last acknowledged request), and
// controls its connections: [Client.Cut], [Client.Gate], [Client.Hold] and
// [Client.Thaw]. A [Rule] hits one request: it can swallow the reply to the second
// create below /locks, and the [Proof] says whether the create was committed.
//
// The tap never changes a byte. What it cannot read, such as four-letter words, it
// passes through. It works with any ZooKeeper client that takes a net.Conn. It cannot
// read encrypted connections.
//
// The package has what else needs frames: [Session.CloseAt] takes a session over and
// closes it, and [Renumber] shifts the sequence numbers that a client sees.
package wire
