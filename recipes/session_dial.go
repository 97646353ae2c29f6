package recipes

import (
	"math/rand/v2"
	"net"
	"time"
)

// dialer gives go-zookeeper the servers in the caller's order, round and round, and
// dials them. It replaces the library's flat one-second wait after every round by a
// wait of its own, short at first, so that a failover is not measured as the client's
// back-off. All methods run on go-zookeeper's one connect loop.
type dialer struct {
	s       *Session
	servers []string
	next    int
	failed  int // dials since the last session was established
}

func (d *dialer) Init([]string) error { return nil } // the library shuffles its list; ours keeps its order
func (d *dialer) Len() int            { return len(d.servers) }
func (d *dialer) Connected()          { d.failed = 0 }

// Next returns the next server. retryStart is true only once the session has
// ended: it is the one place where the connect loop checks whether it should quit.
func (d *dialer) Next() (server string, retryStart bool) {
	server = d.servers[d.next%len(d.servers)]
	d.next++
	return server, d.s.Err() != nil
}

const (
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = time.Second
)

// wait sleeps before a dial: not at all in the first round over the servers, then
// twice as long each round, with jitter so that clients do not come back in step.
func (d *dialer) wait() {
	round := d.failed / len(d.servers)
	d.failed++
	if round == 0 {
		return
	}
	pause := min(firstBackoff<<min(round-1, 10), maxBackoff)
	pause = pause/2 + rand.N(pause/2)
	select {
	case <-time.After(pause):
	case <-d.s.done:
	}
}

// dial opens a connection for the session, and refuses once the session has ended,
// so that go-zookeeper can never start another one.
func (d *dialer) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	d.wait()
	if err := d.s.Err(); err != nil {
		return nil, err
	}
	c, err := d.s.options.Dial(network, addr, min(timeout, d.s.timeout()/3))
	if err != nil {
		d.s.dialFailed(addr, err)
		return nil, err
	}
	return d.s.attach(newLink(c, d.s))
}
