// Package wire sits on every client connection and understands ZooKeeper's frames.
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
// has power over its connections: [Client.Cut], [Client.Gate], [Client.Hold] and
// [Client.Thaw]. A [Rule] aims at one request: at the second create below
// /locks, swallow the reply, and tell whether it was committed.
//
// It never changes a byte. What it cannot read, such as four-letter words, it
// passes through. It knows nothing of recipes, and works with any ZooKeeper
// client that takes a net.Conn. It does not see encrypted connections.
package wire
