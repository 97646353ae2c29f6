package recipes

import (
	"math/rand/v2"
	"net"
	"time"
)

// dialer gives go-zookeeper the servers in the caller's order, repeatedly, and dials them. It
// replaces the library's wait of one second after every round by a shorter one at first, so that a
// failover does not measure the client's back-off. All methods run on go-zookeeper's connect loop.
type dialer struct {
	s       *Session
	servers []string
	next    int
	failed  int // dials since the last session was established
}

func (d *dialer) Init([]string) error { return nil } // the library shuffles its list; this one keeps its order
func (d *dialer) Len() int            { return len(d.servers) }
func (d *dialer) Connected()          { d.failed = 0 }

// Next returns the next server. retryStart is true only once the session has ended: only then does
// the connect loop check whether it should end.
func (d *dialer) Next() (server string, retryStart bool) {
	server = d.servers[d.next%len(d.servers)]
	d.next++
	return server, d.s.Err() != nil
}

const (
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = time.Second
)

// round returns how often all servers have been dialled since the last session was established.
func (d *dialer) round() int { return min(d.failed/len(d.servers), 10) }

// wait sleeps before a dial: not in the first round over the servers, then twice as long each
// round, with jitter so that clients do not reconnect in step.
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

// patience returns the limit of a dial: first go-zookeeper's, a second, then twice as long each
// round. If thousands reconnect at once, dials delay each other: clients that all gave up after a
// second would begin again forever.
func (d *dialer) patience(first time.Duration) time.Duration {
	return min(first<<d.round(), d.s.timeout()/3)
}

// dial opens a connection for the session, and fails once the session has ended, so that
// go-zookeeper can never start another one.
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
