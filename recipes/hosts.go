package recipes

import (
	"math/rand/v2"
	"net"
	"time"
)

// hosts hands go-zookeeper the servers in the caller's order, round and round.
// It replaces the library's flat one-second wait after every round by a wait of
// our own in the dialer, short at first, so that a failover is not measured as
// the client's back-off. All methods run on go-zookeeper's one connect loop.
type hosts struct {
	s       *Session
	servers []string
	next    int
	failed  int // dials since the last session was established
}

func (h *hosts) Init([]string) error { return nil } // the library shuffles its list; ours keeps its order
func (h *hosts) Len() int            { return len(h.servers) }
func (h *hosts) Connected()          { h.failed = 0 }

// Next returns the next server. retryStart is true only once the session has
// ended: it is the one place where the connect loop looks whether it should quit.
func (h *hosts) Next() (server string, retryStart bool) {
	server = h.servers[h.next%len(h.servers)]
	h.next++
	return server, h.s.Err() != nil
}

const (
	firstBackoff = 20 * time.Millisecond
	maxBackoff   = time.Second
)

// wait sleeps before a dial: not at all in the first round over the servers, then
// twice as long each round, with jitter so that clients do not come back in step.
func (h *hosts) wait() {
	round := h.failed / len(h.servers)
	h.failed++
	if round == 0 {
		return
	}
	d := min(firstBackoff<<min(round-1, 10), maxBackoff)
	d = d/2 + rand.N(d/2)
	select {
	case <-time.After(d):
	case <-h.s.Done():
	}
}

// dial opens a connection for the session, and refuses once the session has ended,
// so that go-zookeeper can never start another one.
func (h *hosts) dial(network, addr string, timeout time.Duration) (net.Conn, error) {
	h.wait()
	if err := h.s.Err(); err != nil {
		return nil, err
	}
	c, err := h.s.options.Dial(network, addr, min(timeout, h.s.timeout()/3))
	if err != nil {
		h.s.dialFailed(addr, err)
		return nil, err
	}
	return h.s.attach(newLink(c, h.s))
}
