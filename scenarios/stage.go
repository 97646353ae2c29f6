package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/scenarios/observer"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"golang.org/x/sync/errgroup"
)

// stage is the environment of a kind of phase: clients, clock, record, counts, tree and
// faults.
type stage struct {
	scenario *spec.Scenario
	cell     spec.Cell
	parent   string // the contested node

	clock     history.Clock
	record    *history.Writer
	tap       tap
	members   members
	observer  *observer.Observer
	fence     *observer.Fence
	clients   []*client
	producers []*client // put items into a queue
	holder    *holder
	status    *reporter
	yield     func(context.Context) error // lets other trials that take turns with this one run
	end       context.CancelCauseFunc     // ends the trial as unknown, with the reason

	phase   spec.Phase
	planned spec.PhasePlan
	round   int // of the phase, from 1; 0 outside rounds
	faults  *faults

	sessions sessions // of its clients, so far

	grants atomic.Int64
	items  atomic.Int64 // of a queue: IDs given so far

	outstanding  observer.Items
	putting      atomic.Int64            // clients that may be putting and have not seen the end of the phase
	events       atomic.Pointer[moments] // of the phase; nil without planned faults
	checked      atomic.Int64            // time of the last check of a claim
	stopped      atomic.Int64            // when the clients were stopped in this phase; 0: not yet
	backing      atomic.Int64            // clients that back off after errors
	memberFaults atomic.Int64            // active faults that affect members, and recoveries after them

	counting atomic.Bool // hand-offs are counted by a formula: all clients of a read-write lock write

	resumed atomic.Pointer[func(wire.Event)] // called when a client resumes its session on a server

	driven bool            // its clients run in another process
	watch  *spec.StepWatch // of a calm episode, or nil
	joint  *joint          // the fault that the trial shares with others, or nil
	missed atomic.Bool     // a fault that was aimed at a step was not injected
	shift  int             // rotation of the list of members for the clients' first connection

	dial func(wire.Dialer) wire.Dialer // wraps a client's tap; may be nil
}

// tap is the traffic of a trial's clients: wire.Tap here, agents.Trial with agents.
type tap interface {
	Client(n int) wire.Client
	Totals() wire.Counts // sum over all clients
	WatchDeadlines(context.Context)
	Close()
}

// resource is a node to which a client in another process may write on its own session.
func (st *stage) resource() string { return strings.TrimSuffix(st.parent, "/line") + "/work" }

func (st *stage) queue() bool { return st.cell.Subject.Recipe == recipes.RecipeQueue }

// accept checks that a client opened by the subject has the interface of its recipe.
func (st *stage) accept(c recipes.Client) error {
	s := st.cell.Subject
	_, contends := c.(recipes.Contender)
	_, takes := c.(recipes.QueueClient)
	switch {
	case st.queue() && !takes:
		return fmt.Errorf("%s: its client (%T) does not implement recipes.QueueClient (Put and Take), which a queue needs", s.Name, c)
	case !st.queue() && !contends:
		return fmt.Errorf("%s: its client (%T) does not implement recipes.Contender (Acquire and Release), which a %s needs", s.Name, c, s.Recipe)
	}
	return nil
}

// each calls f for each client, at most atOnce at a time.
func each(clients []*client, atOnce int, f func(*client) error) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, c := range clients {
		g.Go(func() error { return f(c) })
	}
	return g.Wait()
}

const opensAtOnce = 16

// openClients creates the clients, each with a session unless the first phase opens them.
func (st *stage) openClients(ctx context.Context) error {
	st.report("opening sessions")
	for i := range st.cell.Clients {
		st.clients = append(st.clients, newClient(st, i))
	}
	if p := st.scenario.Phases; len(p) > 0 && spec.KindNamed(p[0].Kind).Opens {
		return nil
	}
	return each(st.clients, opensAtOnce, func(c *client) error { return c.open(ctx) })
}

// enter gives every client a session, unless the phase does that, and selects the clients that act
// in the phase. leave undoes the selection.
func (st *stage) enter(ctx context.Context, k *spec.Kind) (leave func(), err error) {
	all := st.clients
	leave = func() { st.clients = all }
	if k.Opens {
		st.closeClients()
	} else if err := each(slices.Concat(st.clients, st.producers), opensAtOnce, func(c *client) error {
		if c.opened() {
			return nil
		}
		return c.reopen(ctx)
	}); err != nil {
		return leave, err
	}
	if n := st.phase.Contenders; n > 0 {
		st.clients = all[:n]
	}
	return leave, nil
}

// renew gives every client a new session, so that watches of the old ones do not count in the next
// round.
func (st *stage) renew(ctx context.Context) error {
	st.closeClients()
	return each(st.clients, opensAtOnce, func(c *client) error { return c.open(ctx) })
}

func (st *stage) closeClients() {
	_ = each(slices.Concat(st.clients, st.producers), 64, func(c *client) error { c.close(); return nil })
}

// openProducers opens producers until there are n. Their numbers follow the clients' numbers.
func (st *stage) openProducers(ctx context.Context, n int) error {
	from := len(st.producers)
	for i := from; i < n; i++ {
		st.producers = append(st.producers, newClient(st, st.cell.Clients+i))
	}
	return each(st.producers[from:], opensAtOnce, func(c *client) error { return c.open(ctx) })
}

func (st *stage) closeProducers() {
	for _, p := range st.producers {
		p.close()
	}
	st.producers = nil
}

// patience bounds the time of the next grant after a session was lost: until it has expired, with a
// margin.
func (st *stage) patience() time.Duration {
	return st.scenario.SessionTimeout + st.scenario.SessionTimeout/2 + settleLimit
}

// timed returns a context that ends with the phase's duration, or when the last fault of open
// duration is over. over ends it earlier; end must be called.
func (st *stage) timed(ctx context.Context) (phase context.Context, over, end func()) {
	phase, cancel := context.WithCancel(ctx)
	over = sync.OnceFunc(func() {
		st.stopped.Store(int64(st.clock.Now()))
		if !st.queue() && st.phase.Rate == 0 { // otherwise they continue with due operations
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

// playFaults injects the phase's faults, reports progress and monitors the line until the phase is
// over.
func (st *stage) playFaults(phase context.Context) {
	start := time.Now()
	reported := make(chan struct{})
	go func() {
		defer close(reported)
		watch := &lineWatch{st: st, since: time.Now(), looked: time.Now(), rests: make([]rest, len(st.clients))}
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

// maxPacket bounds the largest reply, in bytes: the names of some 350,000 items.
const maxPacket = 16 << 20

// packet returns the largest reply that a client may receive, in bytes: a list of all names, with a
// margin. A queue may contain every item that a phase schedules.
func (st *stage) packet() int {
	n := max(64<<10, st.cell.Clients*64+4096)
	if !st.queue() {
		return n
	}
	size := 0
	for _, p := range st.scenario.Phases {
		size = max(size, p.Size)
		items := max(p.Rate, p.RateTo) * p.Duration.Seconds()
		n = max(n, spec.KindNamed(p.Kind).Room, int(items*48))
	}
	return min(maxPacket, n+size)
}

// earlyWarning watches the candidates with a session of its own, which is not counted, and warns
// once fewer are left than the phase states. (Seed 000: "an early warning can also be given based
// on the current number of workers".)
type earlyWarning struct {
	st     *stage
	s      *recipes.Session
	cancel context.CancelFunc
	done   chan struct{} // closed when it has stopped watching
	err    error         // valid after done

	once   sync.Once
	warned chan struct{} // closed when it has warned
}

// warnBelow begins to watch; it returns nil if the phase wants no warning.
func (st *stage) warnBelow(ctx context.Context) (*earlyWarning, error) {
	if st.phase.Warn == 0 {
		return nil, nil
	}
	open, opened := context.WithTimeout(ctx, joinLimit)
	defer opened()
	s, err := recipes.Open(open, st.observer.Ensemble.Servers(), observer.HarnessOptions(st.observer.Ensemble, st.scenario.SessionTimeout))
	if err != nil {
		return nil, fmt.Errorf("open the session that gives the early warning: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	w := &earlyWarning{st: st, s: s, cancel: cancel, done: make(chan struct{}), warned: make(chan struct{})}
	go func() {
		defer close(w.done)
		w.err = s.WatchChildren(ctx, st.parent, w.see)
	}()
	return w, nil
}

func (w *earlyWarning) see(names []string) {
	names = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !observer.Sequential.MatchString(name) })
	if len(names) >= w.st.phase.Warn {
		return
	}
	w.once.Do(func() {
		w.st.record.Record(&history.Warning{At: w.st.clock.Now(), Phase: w.st.phase.Name, Round: w.st.round,
			Standing: len(names), Below: w.st.phase.Warn})
		close(w.warned)
	})
}

// await waits for the warning if no more than that number of candidates are left.
func (w *earlyWarning) await(ctx context.Context, standing int) error {
	if w == nil || standing >= w.st.phase.Warn {
		return nil
	}
	limit, cancel := context.WithTimeout(ctx, w.st.patience())
	defer cancel()
	select {
	case <-w.warned:
		return nil
	case <-w.done:
		return fmt.Errorf("the early warning's observer stopped: %w", w.err)
	case <-limit.Done():
		return errors.Join(ctx.Err(), fmt.Errorf("no early warning within %v though only %d candidates are left", w.st.patience(), standing))
	}
}

func (w *earlyWarning) close() {
	if w == nil {
		return
	}
	w.cancel()
	<-w.done
	w.s.Close()
}

// holder is the current holder of the trial. It keeps that client from releasing while a fault is
// aimed at it: some milliseconds pass between the choice of a target and the injection, in which a
// holder with a short hold would release.
type holder struct {
	mu     sync.Mutex
	now    int           // number of the holder; -1 for none
	pinned int           // number of the client that must not release; -1 for none
	freed  chan struct{} // closed when it may release
}

func newHolder() *holder { return &holder{now: -1, pinned: -1} }

// hitLimit is the time for which a holder waits for a fault.
const hitLimit = 5 * time.Second

// WhenHolding records that client n has the grant.
func (p *holder) holds(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = n
}

func (p *holder) holding() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.now
}

// aimedAt returns the holder, or -1; with stay it keeps it from releasing until free is called.
func (p *holder) aimedAt(stay bool) int {
	if stay {
		return p.aim()
	}
	return p.holding()
}

// aim returns the holder, or -1, and keeps it from releasing until free is called.
func (p *holder) aim() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.now >= 0 && p.pinned != p.now {
		p.unpin()
		p.pinned, p.freed = p.now, make(chan struct{})
	}
	return p.now
}

// unpin lets the pinned holder release; mu is held.
func (p *holder) unpin() {
	if p.pinned >= 0 {
		p.pinned = -1
		close(p.freed)
	}
}

// free lets the pinned holder release.
func (p *holder) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unpin()
}

// letGo waits until client n may release; from then on it does not count as the holder.
func (p *holder) letGo(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, hitLimit)
	defer cancel()
	for {
		p.mu.Lock()
		if p.pinned != n || ctx.Err() != nil {
			if p.now == n {
				p.now = -1
			}
			p.mu.Unlock()
			return
		}
		freed := p.freed
		p.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
		}
	}
}

type counts struct {
	wire    wire.Counts
	fired   int64 // notifications sent, by the members' own counters; -1 if unknown
	watches int64 // watches registered now; -1 if unknown
}

// count reads the taps and every member's counters. A member without counters is not an error.
func (st *stage) count(ctx context.Context) (c counts, err error) {
	c.wire = st.tap.Totals()
	c.fired, c.watches, err = st.members.count(ctx)
	return c, err
}

func (st *stage) traffic(of string, n, round int, base, now counts) *history.Traffic {
	w := now.wire.Sub(base.wire)
	r := &history.Traffic{
		At: st.clock.Now(), Phase: st.phase.Name, Round: round, Of: of, Count: int64(n),
		Notifications: w.Notifications.Total(), Requests: w.Requests.Total(), Lists: lists(w), Bytes: w.BytesIn + w.BytesOut,
	}
	if now.fired >= 0 && base.fired >= 0 {
		r.ServerNotifications = new(now.fired - base.fired)
	}
	return r
}

func lists(c wire.Counts) int64 {
	return c.Requests.Of(wire.GetChildren) + c.Requests.Of(wire.GetChildren2)
}

type effort struct {
	calls   int64
	backOff time.Duration
	wire    wire.Counts
}

func (st *stage) efforts() []effort {
	out := make([]effort, len(st.clients))
	for i, c := range st.clients {
		out[i] = effort{c.calls.Load(), time.Duration(c.back.total.Load()), c.wire.Counts()}
	}
	return out
}

// recordEfforts records the requests of every client since before, without pings.
func (st *stage) recordEfforts(before []effort) {
	for i, e := range st.efforts() {
		calls := e.calls - before[i].calls
		if calls == 0 {
			continue
		}
		w := e.wire.Sub(before[i].wire)
		st.record.Record(&history.Effort{At: st.clock.Now(), Phase: st.phase.Name, Client: i, Queue: st.queue(), Calls: calls,
			Requests: w.Requests.Total(), Notifications: w.Notifications.Total(), Connections: w.Connections, Refusals: w.Errors.Total(), BackOff: e.backOff - before[i].backOff})
	}
}
