package wire

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Tap taps all client connections of one trial.
type Tap struct {
	now     func() time.Duration
	onEvent func(Event)
	way     Way
	admit   func(net.Conn) bool // nil admits all

	mu      sync.Mutex
	clients map[int]*client
	closed  bool
}

// New returns a tap. now is the run's monotonic clock; it is called concurrently.
func New(now func() time.Duration) *Tap {
	return &Tap{now: now, clients: make(map[int]*client)}
}

// OnEvent sets the function for the session events of all clients. Set it before the first Dial.
// For one client the calls are serialized and in order, on the goroutine that reads from or closes
// the connection, usually before the client learns of the event: f must not block. It may call the
// tap.
func (t *Tap) OnEvent(f func(Event)) { t.onEvent = f }

// Admit sets the function that decides whether a connection to a listener is accepted, so that only
// the clients' own processes are. It is called before anything is read. Set it before the first
// Listen.
func (t *Tap) Admit(f func(net.Conn) bool) { t.admit = f }

// Client returns the tap of client n, always the same for the same n.
func (t *Tap) Client(n int) Client { return t.client(n) }

func (t *Tap) client(n int) *client {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.clients[n]
	if c == nil {
		c = &client{tap: t, number: n, conns: make(map[*conn]struct{}), closed: make(chan struct{})}
		if t.closed {
			close(c.closed)
		}
		t.clients[n] = c
	}
	return c
}

func (t *Tap) all() []*client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.clients), func(a, b *client) int { return cmp.Compare(a.number, b.number) })
}

// Totals returns the sum of all clients' counts. Each client's counts are consistent; active
// clients are counted at slightly different times.
func (t *Tap) Totals() Counts {
	var sum Counts
	for _, c := range t.all() {
		sum = sum.Add(c.Counts())
	}
	return sum
}

// Close ends the trial: all rules are disarmed, all holds end, all connections are cut, and no dial
// succeeds. All goroutines of the tap have ended once the clients have stopped reading.
func (t *Tap) Close() {
	t.mu.Lock()
	var open []*client
	if !t.closed {
		open = slices.Collect(maps.Values(t.clients))
	}
	t.closed = true // later clients are created closed
	t.mu.Unlock()
	for _, c := range open {
		c.shut()
	}
}
