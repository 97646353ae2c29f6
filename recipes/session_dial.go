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

// round is how often all servers have been dialled since the last session was established.
func (d *dialer) round() int { return min(d.failed/len(d.servers), 10) }

// wait sleeps before a dial: not at all in the first round over the servers, then
// twice as long each round, with jitter so that clients do not come back in step.
func (d *dialer) wait() {
	round := d.round()
	if round == 0 {
		return
	}
	pause := min(firstBackoff<<(round-1), maxBackoff)
	pause = pause/2 + rand.N(pause/2)
	select {
	case <-time.After(pause):
	case <-d.s.done:
	}
}

// patience is how long a dial may take: first what go-zookeeper says, a second, then twice
// as long each round. Where thousands come back at once, a dial is slow because of the
// other dials: clients that all gave up after a second would begin again for ever.
func (d *dialer) patience(first time.Duration) time.Duration {
	return min(first<<d.round(), d.s.timeout()/3)
}

// dial opens a connection for the session, and refuses once the session has ended,
// so that go-zookeeper can never start another one.
func (d *dialer) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	d.wait()
	if err := d.s.Err(); err != nil {
		return nil, err
	}
	patience := d.patience(timeout)
	d.failed++
	c, err := d.s.options.Dial(network, addr, patience)
	if err != nil {
		d.s.dialFailed(addr, err)
		return nil, err
	}
	return d.s.attach(newLink(c, d.s))
}
