package scenarios

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// stage is what a kind of phase may use of the trial that it is a part of: the clients,
// the clock and the record, what is counted, what stands in the tree, and faults.
type stage struct {
	scenario *Scenario
	cell     cell
	parent   string // the contested node

	clock     history.Clock
	record    *history.Writer
	tap       tap
	members   members
	observer  *observer
	fence     *fence
	clients   []*client
	producers []*client // put items into a queue, for the clients to take
	holder    *holder
	status    *reporter
	yield     func(context.Context) error // lets the trials that take turns with this one have theirs

	phase   Phase
	planned phasePlan
	round   int // of the phase, from 1; 0 outside of rounds
	faults  *faults

	sessions sessions // of its clients, so far

	grants atomic.Int64 // had, or items taken
	items  atomic.Int64 // of a queue: identities given so far

	outstanding  outstanding             // of a queue
	putting      atomic.Int64            // clients that may be putting, of those that put while they see the phase last
	events       atomic.Pointer[moments] // of the phase; nil where no fault is planned
	checked      atomic.Int64            // when a claim was last held against the tree
	stopped      atomic.Int64            // when the clients were told to stop, in this phase; 0: not yet
	backing      atomic.Int64            // clients that back off after errors
	memberFaults atomic.Int64            // faults in force that touch members, and recoveries after them

	resumed atomic.Pointer[func(wire.Event)] // is told that a client has its session on a server again

	driven bool        // its clients are another process
	watch  *stepWatch  // of a calm episode; nil elsewhere
	joint  *joint      // the fault that the trial shares with others; nil where it has none
	missed atomic.Bool // a fault that was aimed at a step did not strike there
	shift  int         // by how many the members are shifted with which the clients begin

	dial func(wire.Dialer) wire.Dialer // what lies between a client and its tap; nil for nothing
}

// tap is what a trial sees of its clients' connections: wire.Tap here, agents.Trial elsewhere.
type tap interface {
	Client(n int) wire.Client
	Totals() wire.Counts // the sum over all clients
	WatchDeadlines(context.Context)
	Close()
}

// resource is a node to which a client that is another process may write on its own
// session, as its work.
func (st *stage) resource() string { return strings.TrimSuffix(st.parent, "/line") + "/work" }

// queue says whether the subject is a queue.
func (st *stage) queue() bool { return st.cell.Subject.Recipe == recipes.RecipeQueue }

// accept checks that a client which the subject has opened is what its recipe says.
func (st *stage) accept(c recipes.Client) error {
	s := st.cell.Subject
	_, contends := c.(recipes.Contender)
	_, takes := c.(recipes.QueueClient)
	switch {
	case st.queue() && !takes:
		return fmt.Errorf("%s: its client (%T) is no recipes.QueueClient, with Put and Take, as a queue needs", s.Name, c)
	case !st.queue() && !contends:
		return fmt.Errorf("%s: its client (%T) is no recipes.Contender, with Acquire and Release, as a %s needs", s.Name, c, s.Recipe)
	}
	return nil
}

// each calls f for clients, so many at a time.
func each(clients []*client, atOnce int, f func(*client) error) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, c := range clients {
		g.Go(func() error { return f(c) })
	}
	return g.Wait()
}

// opensAtOnce is how many sessions are opened at a time: a herd of connects is not what
// is measured.
const opensAtOnce = 16

// openClients makes the clients, each with a session, unless the first phase opens them.
func (st *stage) openClients(ctx context.Context) error {
	st.report("opening sessions")
	for i := range st.cell.Clients {
		st.clients = append(st.clients, newClient(st, i))
	}
	if p := st.scenario.Phases; len(p) > 0 && kindNamed(p[0].Kind).opens {
		return nil
	}
	return each(st.clients, opensAtOnce, func(c *client) error { return c.open(ctx) })
}

// enter gives every client a session, unless the phase itself does, and leaves those
// on the stage who act in it. leave takes that back.
func (st *stage) enter(ctx context.Context, k *kind) (leave func(), err error) {
	all := st.clients
	leave = func() { st.clients = all }
	if k.opens {
		st.closeClients()
	} else if err := st.rejoin(ctx); err != nil {
		return leave, err
	}
	if n := st.phase.Contenders; n > 0 {
		st.clients = all[:n]
	}
	return leave, nil
}

// rejoin brings back the clients that were about to open a new session when the phase
// before ended.
func (st *stage) rejoin(ctx context.Context) error {
	return each(slices.Concat(st.clients, st.producers), opensAtOnce, func(c *client) error {
		if c.opened() {
			return nil
		}
		return c.reopen(ctx)
	})
}

// renew gives every client a new session. What the old ones left behind (the watches
// of waiters that gave up) must not be counted in the next round.
func (st *stage) renew(ctx context.Context) error {
	st.closeClients()
	return each(st.clients, opensAtOnce, func(c *client) error { return c.open(ctx) })
}

func (st *stage) closeClients() {
	_ = each(slices.Concat(st.clients, st.producers), 64, func(c *client) error { c.close(); return nil })
}

// hire opens producers until there are n. Their numbers follow those of the clients.
func (st *stage) hire(ctx context.Context, n int) error {
	from := len(st.producers)
	for i := from; i < n; i++ {
		st.producers = append(st.producers, newClient(st, st.cell.Clients+i))
	}
	return each(st.producers[from:], opensAtOnce, func(c *client) error { return c.open(ctx) })
}

// dismiss closes the producers' sessions.
func (st *stage) dismiss() {
	for _, p := range st.producers {
		p.close()
	}
	st.producers = nil
}

// patience is how long the next in line may take to be let in after a session was
// lost: until it has expired, and a margin.
func (st *stage) patience() time.Duration {
	return st.scenario.SessionTimeout + st.scenario.SessionTimeout/2 + settleLimit
}

// timed returns a context that ends with the phase's duration, which tells its clients to
// stop; later where a fault that takes as long as it takes is not done. over ends it before;
// end must be called.
func (st *stage) timed(ctx context.Context) (phase context.Context, over, end func()) {
	phase, cancel := context.WithCancel(ctx)
	over = sync.OnceFunc(func() {
		st.stopped.Store(int64(st.clock.Now()))
		if !st.queue() && st.phase.Rate == 0 { // else they go on with what was due until then
			st.waiting()
		}
		cancel()
	})
	timer := time.AfterFunc(st.phase.Duration, func() {
		select {
		case <-st.faults.settled:
			over()
		case <-phase.Done():
		}
	})
	return phase, over, func() { timer.Stop(); cancel() }
}

// during plays the phase's faults, reports progress and watches the line until the phase
// is over.
func (st *stage) during(phase context.Context) {
	start := time.Now()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		watch := st.watchLine()
		for phase.Err() == nil {
			st.report("%v of %v%s", time.Since(start).Truncate(time.Second), st.phase.Duration, st.backingOff())
			watch.look(phase)
			pause(phase, 200*time.Millisecond)
		}
	}()
	st.faults.play(phase, st.holder.aimedAt)
	<-phase.Done()
	<-reported
}

// packet is the largest request or reply that a client must be ready for, in bytes.
func (st *stage) packet() int {
	n := max(64<<10, st.cell.Clients*64+4096) // a list of all their names, with plenty to spare
	if !st.queue() {
		return n
	}
	size := 0
	for _, p := range st.scenario.Phases {
		size = max(size, p.Size)
		n = max(n, kindNamed(p.Kind).room)
	}
	return min(1<<20, n+size)
}
