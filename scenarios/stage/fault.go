package stage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// Faults injects faults into clients and members, observes the ensemble's recovery, and records both.
type Faults struct {
	st          *Stage
	entries     []chaos.Entry
	seed        uint64
	trigger     *eventTrigger
	recovery    *recovery
	connections *connections
	activated   chan struct{} // receives a value for each fault that is active or could not be injected
	healErr     error

	slow    map[string]int // by name: faults of open duration that are not over
	settled chan struct{}  // closed when slow is empty
}

// NewFaults prepares the faults of entries. ctx limits the wait for the ensemble's recovery after the faults.
func NewFaults(ctx context.Context, st *Stage, entries []chaos.Entry, seed uint64) *Faults {
	f := &Faults{
		st: st, entries: entries, seed: seed, trigger: &eventTrigger{},
		recovery: &recovery{st: st, ctx: ctx, active: map[string]bool{}}, connections: &connections{begin: func() {}, stop: func() {}},
		activated: make(chan struct{}, 2*len(entries)), slow: map[string]int{}, settled: make(chan struct{}),
	}
	for _, e := range entries {
		if e.For == 0 && e.Every == 0 && len(e.Gaps) == 0 && e.On == "" && chaos.IsLongRunning(e.Fault.String()) {
			f.slow[e.Fault.String()]++
		}
	}
	if len(f.slow) == 0 {
		close(f.settled)
	}
	return f
}

// recordActive records that a fault is active or could not be injected. A phase waits for faults of open duration that
// are injected once: a rolling restart, an upgrade, a session expiry.
func (f *Faults) recordActive(p chaos.Window) {
	select {
	case f.activated <- struct{}{}:
	default:
	}
	n, slow := f.slow[p.Fault]
	if !slow {
		return
	}
	if f.slow[p.Fault]--; n == 1 {
		delete(f.slow, p.Fault)
	}
	if len(f.slow) == 0 {
		close(f.settled)
	}
}

// PrepareFaults prepares the faults of the phase, which may wait for events.
func (st *Stage) PrepareFaults(ctx context.Context) error {
	entries, err := st.Planned.Entries()
	st.Faults = NewFaults(ctx, st, entries, st.Planned.Seed)
	if err != nil || len(entries) == 0 {
		return err
	}
	st.Faults.trigger = newEventTrigger(st.Planned.Faults, len(st.Clients))
	st.Events.Store(st.Faults.trigger)
	st.Faults.connections = countConnections(ctx, st)
	return nil
}

// Play injects the faults, and returns when all are healed. holder returns the target of faults of the
// holder. A fault that was unavailable or not proven is recorded and evaluated later; Close returns an error if a
// fault may be active.
func (f *Faults) Play(ctx context.Context, holder func(stay bool) int) {
	if len(f.entries) == 0 {
		return
	}
	if f.st.IsQueue() {
		holder = nil
	}
	err := chaos.Plan{
		Entries: f.entries, Seed: f.seed, Now: f.st.Clock.Now, Events: &f.trigger.Events,
		Injecting: f.connections.begin, Healed: f.onHealed, Injected: f.injected,
	}.Play(ctx, f.st.Target(holder))
	if errors.Is(err, chaos.ErrNotHealed) {
		f.healErr = fmt.Errorf("%w: a fault may still be active: %w", ErrUnhealthy, err)
	}
}

// Inject injects the named fault, which must need no healing, into a client. An error is recorded with the fault.
func (st *Stage) Inject(ctx context.Context, name string, client int) error {
	fault, err := chaos.Parse(name, strconv.Itoa(client), nil)
	if err != nil {
		return err
	}
	plan := chaos.Plan{Entries: []chaos.Entry{{Fault: fault}}, Seed: st.Planned.Seed, Now: st.Clock.Now,
		Healed: func(p chaos.Window) { recordFault(st.Record, p) }}
	return plan.Play(ctx, st.Target(func(bool) int { return -1 }))
}

func (f *Faults) injected(p chaos.Window) {
	f.st.Status.fault.Store(&p)
	f.st.Holder.AllowRelease()
	f.recovery.injected(p)
	f.recordActive(p)
}

func (f *Faults) onHealed(p chaos.Window) {
	recordFault(f.st.Record, p)
	f.st.Holder.AllowRelease()
	f.st.Status.fault.Store(nil)
	f.recovery.healed(p)
	if p.Err != nil {
		f.recordActive(p)
	}
}

func recordFault(record *history.Writer, p chaos.Window) {
	w := &history.Window{Fault: p.Fault, Target: p.Target, Client: p.Client, Served: p.ServedClients, Start: p.Start, End: p.End,
		Proof: p.Proof, CutShort: p.CutShort}
	if p.Err != nil {
		w.Err = p.Err.Error()
	}
	record.Record(w)
}

// AwaitActive waits until every fault is active, failed or over.
func (f *Faults) AwaitActive(ctx context.Context, over <-chan struct{}) {
	for range f.entries {
		select {
		case <-f.activated:
		case <-over:
			return
		case <-ctx.Done():
			return
		}
	}
}

// Close waits until the ensemble has recovered. The error wraps ErrUnhealthy if it does not.
func (f *Faults) Close() error {
	f.connections.stop()
	return errors.Join(f.healErr, f.recovery.wait())
}

// Target returns the target of faults. holder returns the number of the client that holds; it may be nil.
func (st *Stage) Target(holder func(stay bool) int) chaos.Target {
	t := chaos.Target{Ensemble: st.Members.Ensemble, Network: st.Members.Network, Addresses: st.Addresses, Holder: holder}
	for _, c := range st.Clients {
		t.Clients = append(t.Clients, c.Wire)
	}
	if st.Scenario.Paths > 1 && holder != nil {
		t.Holds = func(n int) bool { return st.Clients[n].HasGrant.Load() }
	}
	if st.IsBarrier() {
		t.MaxExpiries = len(st.Clients)
	}
	if st.Driven {
		t.Process = func(n int) (chaos.Process, error) { return processOf(st, n) }
	}
	if st.Driven && !st.IsQueue() { // for other clients the tap does not record nodes
		t.Next = func() int { return nextInLine(st) }
	}
	return t
}

// nextInLine returns the client with the oldest node behind the holder's on its path, or -1.
func nextInLine(st *Stage) int {
	paths, holder, next, oldest := st.Scenario.PathCount(), st.Holder.current(false), -1, int64(0)
	for _, c := range st.Clients {
		n, _ := c.Wire.Node(st.Parent)
		behind := paths == 1 || c.path() == holder%paths
		if n.Czxid > 0 && behind && c.Number != holder && (next < 0 || n.Czxid < oldest) {
			next, oldest = c.Number, n.Czxid
		}
	}
	return next
}

func (c *Client) driver() *host.Client {
	d, _ := c.subjectClient().(*host.Client)
	return d
}

func processOf(st *Stage, n int) (chaos.Process, error) {
	d := st.Clients[n].driver()
	if d == nil {
		return nil, fmt.Errorf("client %d is not running in any driver process", n)
	}
	p := &clientProcess{Process: d.Process(), st: st}
	for _, c := range slices.Concat(st.Clients, st.Producers) {
		if o := c.driver(); o != nil && o.Process() == p.Process {
			p.clients = append(p.clients, c)
		}
	}
	return p, nil
}

type clientProcess struct {
	*host.Process
	st      *Stage
	clients []*Client
}

func (p *clientProcess) Clients() []int {
	var out []int
	for _, c := range p.clients {
		out = append(out, c.Number)
	}
	return out
}

func (p *clientProcess) Group() (all, stopped []int) {
	if remote, ok := p.Running().(interface{ Group() (all, stopped []int) }); ok {
		return remote.Group()
	}
	return chaos.GroupHere(p.PID())
}

func (p *clientProcess) Replace(as string) error {
	if as != "" {
		next, ok := p.st.Successors[as]
		if !ok {
			return fmt.Errorf("subject %s was not started with the trial", as)
		}
		for _, c := range p.clients {
			c.successor.Store(&next)
		}
	}
	p.Process.Replace()
	return nil
}

// Kill implements chaos.Process. It records that the clients were killed: their beliefs end.
func (p *clientProcess) Kill() error {
	now := p.st.Clock.Now()
	for _, c := range p.clients {
		p.st.Record.Record(&history.Session{At: now, Event: history.Killed, Client: c.Number, Session: c.Wire.Session().ID})
	}
	p.st.Holder.AllowRelease() // the holder has ended
	return p.Process.Kill()
}

// SharedFault is a fault of a member that several trials share: each trial reports when it has reached its step,
// and continues when the member is down.
type SharedFault struct {
	fault      *spec.MemberFault
	lasts      time.Duration
	server     string // client address of the member; "" if the fault has several targets
	mu         sync.Mutex
	notArrived int         // trials that have not reached their step
	timer      *time.Timer // started when the first trial has reached its step
	fired      sync.Once
	Ready      chan struct{} // closed when the member is to be killed
	Down       chan struct{} // closed when the member is down, or could not be killed
	Up         chan struct{} // closed when the member serves again, or was not killed
	window     chaos.Window  // valid after Up is closed
	upAt       time.Time     // valid after Up is closed
	dialled    sync.Map      // dials so far
}

func NewSharedFault(fault *spec.MemberFault, lasts time.Duration, server string, trials int) *SharedFault {
	return &SharedFault{fault: fault, lasts: lasts, server: server, notArrived: trials,
		Ready: make(chan struct{}), Down: make(chan struct{}), Up: make(chan struct{})}
}

type dial struct {
	c    wire.Client
	addr string
}

// arrivalTimeout is the time for which the first trial waits for the others. The time is short, because a client
// disconnects after two thirds of its session timeout without a reply. The member is down for spec.AuditDowntime.
const arrivalTimeout = 700 * time.Millisecond

var errLate = errors.New("the step occurred after the member had been killed")

// DialTargetFirst makes a client open its session with the fault's member: the first dial of each other member fails.
// Many libraries choose the order of members themselves.
func (j *SharedFault) DialTargetFirst(c wire.Client, tap wire.Dialer) wire.Dialer {
	if j.server == "" {
		return tap
	}
	return func(network, addr string, timeout time.Duration) (net.Conn, error) {
		if addr != j.server && c.Session().ID == 0 {
			if _, again := j.dialled.LoadOrStore(dial{c, addr}, true); !again {
				return nil, fmt.Errorf("dial %s: rejected by zkbench: the client's first session must be with %s",
					addr, j.server)
			}
		}
		return tap(network, addr, timeout)
	}
}

// recoveredAt returns when the ensemble recovered from an outage, or now if it is down; the zero time if there was
// no outage or j is nil. See [recipes.Env].
func (j *SharedFault) recoveredAt() time.Time {
	if j == nil || j.fault.Target == "" {
		return time.Time{}
	}
	switch {
	case Closed(j.Up):
		return j.upAt
	case Closed(j.Down):
		return time.Now()
	}
	return time.Time{}
}

// Arrive records that a trial has reached its step or, if here is false, cannot reach it. inTime is false if the
// fault was already due.
func (j *SharedFault) Arrive(here bool) (inTime bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	inTime = !Closed(j.Ready)
	j.notArrived--
	if here && j.timer == nil {
		j.timer = time.AfterFunc(arrivalTimeout, j.fire)
	}
	if j.notArrived == 0 {
		j.fire()
	}
	return inTime
}

func (j *SharedFault) fire() { j.fired.Do(func() { close(j.Ready) }) }

// AwaitOver waits until the fault is over for a trial whose client is connected to server. It calls release when the
// member is down.
func (j *SharedFault) AwaitOver(ctx context.Context, server string, release func()) error {
	if j.server != "" && server != j.server {
		j.Arrive(false)
		return fmt.Errorf("the client's member (%s) is not the killed member (%s)", cmp.Or(server, "none"), j.server)
	}
	if !j.Arrive(true) {
		return errLate
	}
	for _, next := range []chan struct{}{j.Down, j.Up} {
		if Await(ctx, next) != nil {
			return context.Cause(ctx)
		}
		release()
	}
	return j.window.Err
}

// Play injects the fault once all trials have reached their step, and heals it.
func (j *SharedFault) Play(ctx context.Context, e *ensembles.Ensemble, member string) error {
	defer func() { j.upAt = time.Now(); close(j.Up) }()
	isDown := sync.OnceFunc(func() { close(j.Down) })
	defer isDown()
	if Await(ctx, j.Ready) != nil {
		return context.Cause(ctx)
	}
	fault, err := chaos.Parse(j.fault.Fault, cmp.Or(j.fault.Target, member), nil)
	if err != nil {
		return err
	}
	start := time.Now()
	return chaos.Plan{
		Entries: []chaos.Entry{{Fault: fault, For: j.lasts}}, Now: func() time.Duration { return time.Since(start) },
		Injected: func(chaos.Window) { isDown() }, Healed: func(w chaos.Window) { j.window = w },
	}.Play(ctx, chaos.Target{Ensemble: e})
}
