package wire

import (
	"cmp"
	"maps"
	"net"
	"slices"
	"sync"
	"time"
)

// Tap is on all client connections of one trial.
type Tap struct {
	now     func() time.Duration
	onEvent func(Event)
	way     Way
	admit   func(net.Conn) bool // nil admits everybody

	mu      sync.Mutex
	clients map[int]*client
	closed  bool
}

// New returns a tap whose times are those of now, the run's monotonic clock.
// now is called from many goroutines.
func New(now func() time.Duration) *Tap {
	return &Tap{now: now, clients: make(map[int]*client)}
}

// OnEvent sets the function that is called with the events of the clients' sessions.
// Set it before the first Dial. For one client the calls come one at a time and in
// order, on the goroutine that reads from or closes the connection, mostly before the
// client itself learns of the event: f must not block. It may call the tap.
func (t *Tap) OnEvent(f func(Event)) { t.onEvent = f }

// Admit sets the function that decides whether a connection to a listener is passed on: one that
// the clients' own processes did not make is not. It is called before anything is read. Set it
// before the first Listen.
func (t *Tap) Admit(f func(net.Conn) bool) { t.admit = f }

// Client returns the tap on the connections of client n, the same for the same n.
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

// all returns all clients, by number.
func (t *Tap) all() []*client {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.SortedFunc(maps.Values(t.clients), func(a, b *client) int { return cmp.Compare(a.number, b.number) })
}

// Totals returns the sum of all clients' counts. Each client's share is exact;
// clients that go on meanwhile are counted at slightly different times.
func (t *Tap) Totals() Counts {
	var sum Counts
	for _, c := range t.all() {
		sum = sum.Add(c.Counts())
	}
	return sum
}

// Close ends the trial: all rules are disarmed, all holds end, all connections
// are cut, and no dial succeeds again. Nothing that the tap started is left
// running once the clients have stopped reading.
func (t *Tap) Close() {
	t.mu.Lock()
	var open []*client
	if !t.closed {
		open = slices.Collect(maps.Values(t.clients))
	}
	t.closed = true // a client that is made from now on is closed already
	t.mu.Unlock()
	for _, c := range open {
		c.shut()
	}
}
