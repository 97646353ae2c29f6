// Package stage provides the environment in which phases run: clients, clock, record, tree, members and faults.
// Package scenarios creates a [Stage] for each trial and runs the trial's phases on it. Kinds of phases are
// registered with [AddKind].
package stage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
	"golang.org/x/sync/errgroup"
)

// Stage is the environment in which the phases of a trial run: clients, clock, record, counts, tree and faults.
type Stage struct {
	Scenario *spec.Scenario
	Cell     spec.Cell
	Parent   string // the contested node, or the parent of the contested nodes of several paths; see PathParent

	Clock     history.Clock
	Record    *history.Writer
	Tap       Tap
	Members   Members
	Observer  *observer.Observer
	Fences    []*observer.Fence // by path
	Clients   []*Client
	Producers []*Client // put items into a queue
	Holder    *Holder
	Status    *Reporter
	Yield     func(context.Context) error // lets the trials that alternate with this one run
	End       context.CancelCauseFunc     // ends the trial as unknown, with the reason

	Phase   spec.Phase
	Planned spec.PhasePlan
	Round   int // current round of the phase, from 1; 0 outside rounds
	Faults  *Faults

	Grants atomic.Int64
	items  atomic.Int64 // number of item IDs issued so far, for a queue

	outstanding    observer.Items
	putting        atomic.Int64                 // clients that may put an item, because they have not noticed the end of the phase
	Events         atomic.Pointer[eventTrigger] // events of the phase that faults wait for; nil without planned faults
	lastClaimCheck atomic.Int64                 // time of the last check of a claim
	StoppedAt      atomic.Int64                 // when the clients were stopped in this phase; 0: not yet
	backing        atomic.Int64                 // clients that back off after errors
	MemberFaults   atomic.Int64                 // active faults that affect members, and recoveries after them

	Counting atomic.Bool // the phase compares hand-offs with a formula: all clients of a read-write lock write

	OnResume atomic.Pointer[func(wire.Event)] // called when a client resumes its session on a server

	Addresses *wire.Addresses // those of the members for clients; nil if no fault moves members

	Driven bool // the clients run in other processes
	// Successors are the started subjects with which a fault may restart clients, by name.
	Successors map[string]recipes.Subject
	Watch      *spec.StepWatch // collects the steps of calm episodes; nil if they are not collected
	Shared     *SharedFault    // the fault that this trial shares with other trials, or nil
	Missed     atomic.Bool     // a fault of a step was not injected
	Shift      int             // rotation of the list of members for the clients' first connection

	Dial func(wire.Dialer) wire.Dialer // wraps a client's tap; may be nil
}

// Tap observes the traffic of a trial's clients: a wire.Tap in this process, or an agents.Trial with agents.
type Tap interface {
	Client(n int) wire.Client
	Totals() wire.Counts // sum over all clients
	WatchDeadlines(context.Context)
	Close()
}

// PathParent returns the contested node of a path.
func (st *Stage) PathParent(path int) string {
	if st.Scenario.Paths <= 1 {
		return st.Parent
	}
	return history.PathNode(st.Parent, path)
}

// Resource returns the path of a node to which a client in another process may write on its own session.
func (st *Stage) Resource() string { return st.Observer.Root + "/work" }

func (st *Stage) IsQueue() bool { return st.Cell.Subject.Recipe == recipes.RecipeQueue }

func checkInterface(s recipes.Subject, c recipes.Client) error {
	queue := s.Recipe == recipes.RecipeQueue
	_, contends := c.(recipes.Contender)
	_, takes := c.(recipes.QueueClient)
	switch {
	case queue && !takes:
		return fmt.Errorf("%s: its client (%T) does not implement recipes.QueueClient (Put and Take), which a queue needs", s.Name, c)
	case !queue && !contends:
		return fmt.Errorf("%s: its client (%T) does not implement recipes.Contender (Acquire and Release), which a %s needs", s.Name, c, s.Recipe)
	}
	return nil
}

// Each calls f for each client, at most atOnce at a time, and returns the first error.
func Each(clients []*Client, atOnce int, f func(*Client) error) error {
	var g errgroup.Group
	g.SetLimit(atOnce)
	for _, c := range clients {
		g.Go(func() error { return f(c) })
	}
	return g.Wait()
}

// Start calls f for each client in a goroutine. wait waits until all calls have returned.
func Start(clients []*Client, f func(*Client)) (wait func()) {
	var calls sync.WaitGroup
	for _, c := range clients {
		calls.Go(func() { f(c) })
	}
	return calls.Wait
}

// OpensAtOnce is the number of clients that open their sessions at the same time.
const OpensAtOnce = 16

// OpenClients creates the clients, each with a session unless the first phase opens them.
func (st *Stage) OpenClients(ctx context.Context) error {
	st.Report("opening sessions")
	for i := range st.Cell.Clients {
		st.Clients = append(st.Clients, NewClient(st, i))
	}
	if p := st.Scenario.Phases; len(p) > 0 && spec.KindNamed(p[0].Kind).OpensSessions {
		return nil
	}
	return Each(st.Clients, OpensAtOnce, func(c *Client) error { return c.Open(ctx) })
}

// Enter gives every client a session, unless the phase does that, and selects the clients that act
// in the phase. leave undoes the selection.
func (st *Stage) Enter(ctx context.Context, k *spec.Kind) (leave func(), err error) {
	all := st.Clients
	leave = func() { st.Clients = all }
	if k.OpensSessions {
		st.CloseClients()
	} else if err := Each(slices.Concat(st.Clients, st.Producers), OpensAtOnce, func(c *Client) error {
		if c.IsOpen() {
			return nil
		}
		return c.Reopen(ctx)
	}); err != nil {
		return leave, err
	}
	if n := st.Phase.Contenders; n > 0 {
		st.Clients = all[:n]
	}
	return leave, nil
}

// Renew gives every client a new session, so that watches of the old sessions do not add notifications to the
// next round.
func (st *Stage) Renew(ctx context.Context) error {
	st.CloseClients()
	return Each(st.Clients, OpensAtOnce, func(c *Client) error { return c.Open(ctx) })
}

// RenewIfRequeues gives new sessions to clients that requeue by themselves: such a client is in line again after
// each release, although no acquire is in progress.
func (st *Stage) RenewIfRequeues(ctx context.Context) error {
	if !st.Cell.Subject.Promises.Requeues {
		return nil
	}
	return st.Renew(ctx)
}

func (st *Stage) CloseClients() {
	_ = Each(slices.Concat(st.Clients, st.Producers), 64, func(c *Client) error { c.Close(); return nil })
}

// GrantTimeout returns the longest time to wait for the next grant after a session was lost: until the session
// has expired, with a margin.
func (st *Stage) GrantTimeout() time.Duration {
	return st.Scenario.SessionTimeout + st.Scenario.SessionTimeout/2 + QuietLimit
}

// Timed returns a context that ends with the phase's duration, or later, when the last fault of open duration is
// over. over ends the context earlier; end must be called.
func (st *Stage) Timed(ctx context.Context) (phase context.Context, over, end func()) {
	phase, cancel := context.WithCancel(ctx)
	over = sync.OnceFunc(func() {
		st.StoppedAt.Store(int64(st.Clock.Now()))
		if !st.IsQueue() && st.Phase.Rate == 0 { // otherwise the clients continue with due operations
			st.RecordPending()
		}
		cancel()
	})
	timer := time.AfterFunc(st.Phase.Duration, func() {
		select {
		case <-st.Faults.settled:
			over()
		case <-phase.Done():
		}
	})
	return phase, over, func() { timer.Stop(); cancel() }
}

// PlayFaults injects the phase's faults, reports progress and monitors the line until the phase is over.
func (st *Stage) PlayFaults(phase context.Context) {
	start := time.Now()
	var reports sync.WaitGroup
	reports.Go(func() {
		watch := &lineWatch{st: st, since: time.Now(), checkedAt: time.Now(), idle: make([]idlePeriod, len(st.Clients))}
		for phase.Err() == nil {
			st.Report("%v of %v%s", time.Since(start).Truncate(time.Second), st.Phase.Duration, st.backingOff())
			watch.check(phase)
			Pause(phase, 200*time.Millisecond)
		}
	})
	st.Faults.Play(phase, st.Holder.current)
	<-phase.Done()
	reports.Wait()
}

// maxPacket bounds the largest reply, in bytes: the names of some 350,000 items.
const maxPacket = 16 << 20

// maxReply returns the size of the largest reply that a client may receive, in bytes: a list of all names, with a
// margin. A queue may contain every item that a phase schedules.
func maxReply(c spec.Cell) int {
	n := max(64<<10, c.Clients*64+4096)
	if c.Subject.Recipe != recipes.RecipeQueue {
		return n
	}
	size := 0
	for _, p := range c.Scenario.Phases {
		size = max(size, p.Size)
		items := max(p.Rate, p.RateTo) * p.Duration.Seconds()
		n = max(n, spec.KindNamed(p.Kind).ExtraPacket, int(items*48))
	}
	return min(maxPacket, n+size)
}

// Holder tracks the current holder of the trial. It delays the release of a client that is the target of a fault: a
// holder with a short hold time could release in the milliseconds between the choice of the target and the injection.
type Holder struct {
	mu     sync.Mutex
	now    int           // number of the holder; -1 for none
	pinned int           // number of the client that must not release; -1 for none
	freed  chan struct{} // closed when the pinned client may release
}

func NewHolder() *Holder { return &Holder{now: -1, pinned: -1} }

// pinLimit is the longest time for which a release is delayed for a fault of the holder.
const pinLimit = 5 * time.Second

func (p *Holder) set(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now = n
}

// current returns the number of the holder, or -1. With stay, the holder cannot release until AllowRelease is called.
func (p *Holder) current(stay bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if stay && p.now >= 0 && p.pinned != p.now {
		p.unpin()
		p.pinned, p.freed = p.now, make(chan struct{})
	}
	return p.now
}

// unpin allows the pinned client to release. The caller holds mu.
func (p *Holder) unpin() {
	if p.pinned >= 0 {
		p.pinned = -1
		close(p.freed)
	}
}

func (p *Holder) AllowRelease() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unpin()
}

// AwaitUnpinned waits until client n may release. Afterwards the client is not the holder.
func (p *Holder) AwaitUnpinned(ctx context.Context, n int) {
	ctx, cancel := context.WithTimeout(ctx, pinLimit)
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
		_ = Await(ctx, freed)
	}
}

// Counts are the counters of the taps and of the members at one time.
type Counts struct {
	Wire    wire.Counts
	Fired   int64 // notifications sent, according to the members' counters; -1 if unknown
	watches int64 // watches registered now; -1 if unknown

	fsyncs, writes history.MemberTimes // by the members' own clocks; 0 if unknown
}

// Count reads the taps, and every member's counters unless other trials use the members, too. A member without
// counters is not an error.
func (st *Stage) Count(ctx context.Context) (Counts, error) {
	unknown := Counts{Wire: st.Tap.Totals(), Fired: -1, watches: -1}
	if st.Members.SharedMembers {
		return unknown, nil
	}
	c := Counts{Wire: unknown.Wire}
	for _, mntr := range st.Members.counters(ctx) {
		if _, ok := mntr[firedCounters[0]]; !ok {
			return unknown, ctx.Err()
		}
		for _, key := range firedCounters {
			c.Fired += int64(mntr[key])
		}
		c.watches += int64(mntr["watch_count"])
		addTimes(&c.fsyncs, mntr, "fsynctime")
		addTimes(&c.writes, mntr, "updatelatency")
	}
	return c, nil
}

func addTimes(t *history.MemberTimes, mntr map[string]float64, name string) {
	t.Count += int64(mntr["cnt_"+name])
	t.Sum += time.Duration(mntr["sum_"+name]) * time.Millisecond
}

// Traffic returns the record of the traffic between the counts base and now, in which n operations of the kind of
// (such as history.OfHandoff) were executed.
func (st *Stage) Traffic(of string, n, round int, base, now Counts) *history.Traffic {
	w := now.Wire.Sub(base.Wire)
	r := &history.Traffic{
		At: st.Clock.Now(), Phase: st.Phase.Name, Round: round, Of: of, Count: int64(n),
		Notifications: w.Notifications.Total(), Requests: w.Requests.Total(), Lists: Lists(w), Bytes: w.BytesIn + w.BytesOut,
	}
	if now.Fired >= 0 && base.Fired >= 0 {
		if now.Wire.Requests.Of(wire.AddWatch) == 0 { // a member counts notifications of recursive watches that it does not send
			r.ServerNotifications = new(now.Fired - base.Fired)
		}
		r.Fsyncs, r.Writes = now.fsyncs.Sub(base.fsyncs), now.writes.Sub(base.writes)
	}
	return r
}

// Lists returns the number of requests that list children (getChildren and getChildren2).
func Lists(c wire.Counts) int64 {
	return c.Requests.Of(wire.GetChildren) + c.Requests.Of(wire.GetChildren2)
}

// RecordEfforts records the requests of every client since before, without pings.
func (st *Stage) RecordEfforts(before []clientState) {
	for i, now := range st.States() {
		calls := now.calls - before[i].calls
		if calls == 0 {
			continue
		}
		w := now.counts.Sub(before[i].counts)
		st.Record.Record(&history.Effort{At: st.Clock.Now(), Phase: st.Phase.Name, Client: i, Queue: st.IsQueue(), Calls: calls,
			Requests: w.Requests.Total(), Notifications: w.Notifications.Total(), Connections: w.Connections, Refusals: w.Errors.Total(),
			Writes: w.Requests.Of(wire.SetData) - w.Errors.Of(wire.SetData), BackOff: now.backOff - before[i].backOff})
	}
}

// IsBarrier reports whether the subject is a barrier. All clients enter it together and leave it together.
func (st *Stage) IsBarrier() bool { return st.Cell.Subject.Recipe == recipes.RecipeBarrier }

// awaitOthersOut waits, within a limit, until no other client is inside the barrier: in the recipe
// of ZooKeeper's documentation, the node of a client that enters again prevents the others from leaving.
func (c *Client) awaitOthersOut(ctx context.Context) {
	inside := func(other *Client) bool { return other != c && other.HasGrant.Load() }
	_ = Poll(ctx, c.Stage.GrantTimeout(), func(context.Context) (bool, error) {
		return !slices.ContainsFunc(c.Stage.Clients, inside), nil
	})
}

var runs = map[string]func(ctx context.Context, st *Stage) error{}

// AddKind registers a kind of phase with its behaviour. run must leave every client with a session, and no
// client in line.
func AddKind(k spec.Kind, run func(ctx context.Context, st *Stage) error) {
	spec.RegisterKind(k)
	runs[k.Name] = run
}

// RunKind runs the current phase with the function that AddKind registered for its kind.
func (st *Stage) RunKind(ctx context.Context) error { return runs[st.Phase.Kind](ctx, st) }
