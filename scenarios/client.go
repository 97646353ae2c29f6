package scenarios

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/scenarios/observer"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// client is a contender of a trial: the subject's client, the tap on its connections, and the
// record of its operations.
type client struct {
	n    int
	st   *stage
	wire wire.Client

	subject atomic.Pointer[recipes.Client]      // nil without a session
	heard   atomic.Pointer[func(recipes.Event)] // called with each event of the client after it was recorded; returns at once

	under      atomic.Pointer[operation]
	calls      atomic.Int64   // calls of acquire and take
	begun      atomic.Int64   // operations begun
	asking     sync.WaitGroup // see askAfterLoss
	token      atomic.Int64   // of the last grant
	grant      atomic.Int64   // number of the last grant among all grants of the trial
	moves      atomic.Int64   // grants and releases, or items taken
	limit      atomic.Int64
	back       backOff
	modes      *rand.Rand   // chooses the modes of a read-write lock
	shared     atomic.Bool  // other clients may hold at the same time as its last grant
	inside     atomic.Bool  // it has been granted, and its release has not returned
	grantedAt  atomic.Int64 // when its last acquire returned with a grant
	releasedAt atomic.Int64 // when its last release was called

	learned atomic.Pointer[recipes.Event] // the last event since the call of acquire
}

func newClient(st *stage, n int) *client {
	return &client{n: n, st: st, wire: st.tap.Client(n)}
}

type operation struct {
	op   string
	call time.Duration
	mode recipes.Mode // of an acquire of a read-write lock
}

func (st *stage) instant(t time.Time) time.Duration {
	if t.IsZero() {
		return st.clock.Now()
	}
	return st.clock.At(t)
}

func (c *client) event(e recipes.Event) {
	c.learned.Store(&e)
	c.recordEvent(e, c.st.instant(e.At))
	c.askAfterLoss(e)
	if heard := c.heard.Load(); heard != nil {
		(*heard)(e)
	}
}

func (c *client) recordEvent(e recipes.Event, at time.Duration) {
	c.st.record.Record(&history.Session{At: at, Event: history.SessionEvent(e.Kind), Client: c.n, Token: e.Token, Session: cmp.Or(e.Session, c.wire.Session().ID)})
}

func (c *client) contender() recipes.Contender { return (*c.subject.Load()).(recipes.Contender) }

func (c *client) inDoubt(token int64) bool {
	e := c.learned.Load()
	return e != nil && e.Token == token && e.Kind != recipes.EventRestored
}

func (c *client) lost(token int64) bool {
	return c.inDoubt(token) && c.learned.Load().Kind == recipes.EventLost
}

func (c *client) enter(o operation, f func() error) error {
	c.calls.Add(1)
	moments := c.st.events.Load()
	moments.acquiring()
	err := c.do(o, f)
	moments.acquired(c.n, err == nil)
	return err
}

func (c *client) do(o operation, f func() error) error {
	c.begun.Add(1)
	c.under.Store(&o)
	defer c.under.Store(nil)
	err := protected(f)
	if p, ok := errors.AsType[panicError](err); ok {
		c.st.end(fmt.Errorf("%s of client %d: %w", o.op, c.n, p))
	}
	return err
}

func (st *stage) waiting() {
	now := st.clock.Now()
	for _, c := range slices.Concat(st.clients, st.producers) {
		if o := c.under.Load(); o != nil {
			st.record.Record(&history.Waiting{At: now, Phase: st.phase.Name, Client: c.n, Op: o.op, Mode: string(o.mode), Call: o.call})
		}
	}
}

func (c *client) acquire(ctx context.Context) (recipes.Claim, error) {
	if c.st.barrier() {
		c.awaitOthersOut(ctx)
		if ctx.Err() != nil {
			return recipes.Claim{}, ctx.Err()
		}
	}
	now := c.st.clock.Now()
	return c.acquireDue(ctx, now, now)
}

func (c *client) acquireDue(ctx context.Context, due, call time.Duration) (claim recipes.Claim, err error) {
	c.learned.Store(nil)
	limit, mode := time.Duration(c.limit.Swap(0)), c.mode()
	err = c.enter(operation{history.Acquire, call, mode}, func() error { claim, err = c.ask(ctx, limit, mode); return err })
	if c.st.dial != nil {
		claim.Path = wire.RealPath(claim.Path)
	}
	returned := c.st.instant(claim.At)
	if err == nil && claim.Token == 0 && claim.Path != "" {
		claim.Token = c.st.observer.Czxid(ctx, claim.Path)
	}
	s := c.sample(history.Acquire, call, err)
	s.Limit, s.Mode = limit, string(mode)
	s.Due, s.Token, s.Own, s.Session, s.Path = due, claim.Token, claim.Own, claim.Session, claim.Path
	s.Return = min(s.Return, max(s.Call, returned))
	c.timed(&s)
	c.st.record.Sample(s)
	if err == nil && c.inDoubt(claim.Token) {
		e := *c.learned.Load()
		c.recordEvent(e, max(s.Return, c.st.instant(e.At)))
	}
	if err == nil {
		c.token.Store(claim.Token)
		c.inside.Store(true)
		c.grantedAt.Store(int64(s.Return - s.Clock))
		c.shared.Store(c.shares(mode))
		c.st.holder.holds(c.n)
		c.grant.Store(c.st.grants.Add(1))
		c.moves.Add(1)
	}
	return claim, err
}

// ask makes the subject acquire, with its own timed try if the call has a limit.
func (c *client) ask(ctx context.Context, limit time.Duration, mode recipes.Mode) (recipes.Claim, error) {
	o := recipes.AcquireOptions{Mode: mode}
	if limit > 0 {
		o.Limit = &limit
	}
	if o == (recipes.AcquireOptions{}) {
		return c.contender().Acquire(ctx)
	}
	return c.contender().(recipes.OptionContender).AcquireWith(ctx, o)
}

// release releases a claim. It does not end early with ctx: an abandoned release would leave the
// node in the queue.
func (c *client) release(ctx context.Context, claim recipes.Claim) error {
	limit := c.st.scenario.SessionTimeout + 5*time.Second
	if c.st.barrier() { // it waits for the others
		limit = c.st.patience()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer c.inside.Store(false)
	c.st.holder.letGo(ctx, c.n)
	due := c.st.clock.Now()
	err := c.do(operation{op: history.Release, call: due}, func() error { return c.contender().Release(ctx) })
	s := c.sample(history.Release, due, err)
	s.Token, s.Session, s.Path = claim.Token, claim.Session, claim.Path
	c.timed(&s)
	c.releasedAt.Store(int64(s.Call + s.Clock))
	c.st.record.Sample(s)
	return err
}

// Write writes to the fenced resource, unless other clients may hold at the same time.
func (c *client) write(ctx context.Context, claim recipes.Claim) {
	if c.shared.Load() {
		return
	}
	due := c.st.clock.Now()
	version, err := c.st.fence.Write(ctx, claim.Token, c.grant.Load())
	s := c.sample(history.Write, due, err)
	s.Token, s.Session, s.Version = claim.Token, claim.Session, version
	if err != nil && !errors.Is(err, observer.ErrFenced) {
		s.Outcome = history.Unknown
	}
	c.st.record.Sample(s)
}

func (c *client) sample(op string, due time.Duration, err error) history.Sample {
	s := history.Sample{
		Client: c.n, Phase: c.st.phase.Name, Round: c.st.round, Op: op,
		Due: due, Call: due, Return: c.st.clock.Now(), Outcome: outcome(err),
	}
	known := c.wire.Known()
	if s.Zxid = known.Zxid; known.RemovedAt >= due {
		s.Removed = known.Removed
	}
	if s.Notified = known.Notified; !c.st.barrier() {
		s.Notified = known.ChangedAt > 0 && known.ChangedAt >= due
	}
	if err != nil {
		s.Err, s.Stuck = err.Error(), errors.Is(err, recipes.ErrStuck)
	}
	return s
}

// timed uses the times of the recipe's own call if the client reports them. The belief is shortened
// by their possible error: it begins with the return of an acquire and ends with the call of a
// release. The times are bounded by the harness's own observations.
func (c *client) timed(s *history.Sample) {
	subject := c.subject.Load()
	if subject == nil {
		return
	}
	t, ok := (*subject).(recipes.Timed)
	if !ok {
		return
	}
	times := t.Times()
	called, returned := c.st.instant(times.Called), c.st.instant(times.Returned)
	if times.Called.IsZero() || called < s.Call || returned > s.Return {
		return
	}
	asked, told := s.Call, s.Return
	if s.Due == s.Call {
		s.Due = called // the harness added no delay
	}
	s.Call, s.Return = called, returned
	switch s.Op {
	case history.Acquire:
		s.Return = min(s.Return+times.Error, told)
		s.Clock = s.Return - returned
	case history.Release:
		s.Call = max(s.Call-times.Error, asked)
		s.Clock = called - s.Call
		s.Due = min(s.Due, s.Call)
	}
}

// outcome returns the outcome that an error proves. Only a reply, a cancellation that was cleaned up, or the
// end of the session proves that nothing happened.
func outcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case recipes.Indeterminate(err):
		return history.Unknown
	}
	return history.Failed
}

func (c *client) open(ctx context.Context) error {
	st := c.st
	var subject recipes.Client
	err := protected(func() (err error) {
		subject, err = st.cell.Subject.Open(ctx, recipes.Env{
			Servers: rotated(st.members.ensemble.Servers(), c.n+st.shift), Parent: st.parent, Timeout: st.scenario.SessionTimeout,
			Dial: zk.Dialer(c.before(c.wire.Dial)), MaxPacket: st.packet(), Events: c.event,
			Auth: observer.AuthFor(st.members.ensemble), ACL: observer.ACLFor(st.members.ensemble),
			Client: c.n, Permits: st.scenario.PermitCount(), Parties: len(st.clients), Connect: c.listeners, Resource: st.resource(), Seen: c.seen, Requests: c.requests, Served: st.served,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("client %d: %w", c.n, err)
	}
	if err := st.accept(subject); err != nil {
		return errors.Join(err, subject.Close(ctx))
	}
	c.subject.Store(&subject)
	return nil
}

// rotated returns the servers in order, beginning with the n-th.
func rotated(servers []string, n int) []string {
	k := n % len(servers)
	return slices.Concat(servers[k:], servers[:k])
}

func (c *client) before(tap wire.Dialer) wire.Dialer {
	if c.st.dial != nil {
		tap = c.st.dial(tap)
	}
	if c.st.joint != nil && c.n == c.st.cell.Aims[0].Step.Client() {
		tap = c.st.joint.lead(c.wire, tap)
	}
	return tap
}

// listeners returns the addresses of the members for a client in another process: listeners with
// the tap behind them, in the order in which the client should try them.
func (c *client) listeners() (addrs []string, err error) {
	between := c.before
	if c.st.dial == nil && c.st.joint == nil {
		between = nil
	}
	for _, server := range rotated(c.st.members.ensemble.Servers(), c.n+c.st.shift) {
		addr, err := c.wire.Listen(server, between)
		if err != nil {
			return nil, fmt.Errorf("client %d: a listener for %s: %w", c.n, server, err)
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// seen returns the tap's view of the client: its session, and the session's newest node in the
// queue.
func (c *client) seen() recipes.Claim {
	n, _ := c.wire.Node(c.st.parent)
	return recipes.Claim{Session: c.wire.Session().ID, Path: n.Path, Token: n.Czxid}
}

// requests returns the number of requests that the client has sent, without pings and
// authentication.
func (c *client) requests() int64 {
	sent := c.wire.Counts().Requests
	return sent.Total() - sent.Of(wire.Auth) - sent.Of(wire.SASL) - sent.Of(wire.SetWatches) - sent.Of(wire.SetWatches2)
}

func (c *client) opened() bool { return c.subject.Load() != nil }

func (c *client) close() {
	id := c.wire.Session().ID
	if closed, err := c.closeSubject(); closed && err == nil {
		c.closed(id)
	}
}

// leave closes the session while the client waits. The belief ends at the call, not at its return.
func (c *client) leave() error {
	c.closed(c.wire.Session().ID)
	if _, err := c.closeSubject(); err != nil {
		return fmt.Errorf("client %d closes its session: %w", c.n, err)
	}
	return nil
}

func (c *client) closeSubject() (closed bool, err error) {
	c.asking.Wait()
	subject := c.subject.Swap(nil)
	if subject == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second+c.st.scenario.SessionTimeout)
	defer cancel()
	return true, protected(func() error { return (*subject).Close(ctx) })
}

func (c *client) closed(session int64) {
	c.st.record.Record(&history.Session{At: c.st.clock.Now(), Event: history.Closed, Client: c.n, Session: session})
}

// reopen replaces a client whose session has ended. It retries until ctx is done: an election may
// be in progress.
func (c *client) reopen(ctx context.Context) error {
	c.close()
	if c.st.barrier() {
		c.awaitOthersOut(ctx)
	}
	for {
		err := c.open(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.backOff(ctx)
	}
}

// connectionsEvery is the interval at which the members' count of connections is read. The
// result is a rate per second.
const connectionsEvery = time.Second

const connectionsCounter = "connection_request_count"

// connections counts new connections by the members' own counters. After a fault is healed it shows
// the load of reconnecting clients. It sends no requests before the first fault, so that they do
// not affect the measurement.
type connections struct {
	st   *stage
	last []float64     // by member; -1 before the first reply
	at   time.Duration // of the last count; -1 before the first

	first sync.Once
	begun chan struct{} // closed when the first fault is injected
	done  chan struct{}
	end   context.CancelFunc
}

// countConnections reads the counters and starts a goroutine that waits for begin. It returns at
// once.
func (st *stage) countConnections(ctx context.Context) *connections {
	ctx, cancel := context.WithCancel(ctx)
	c := &connections{st: st, last: make([]float64, len(st.members.ensemble.Members)), at: -1,
		begun: make(chan struct{}), done: make(chan struct{}), end: cancel}
	for i := range c.last {
		c.last[i] = -1
	}
	go c.run(ctx)
	return c
}

func (c *connections) begin() {
	if c != nil {
		c.first.Do(func() { close(c.begun) })
	}
}

func (c *connections) stop() {
	if c != nil {
		c.end()
		<-c.done
	}
}

// run counts every second after the first fault. Earlier connections are a count of their own, so
// that they do not dilute the first rate.
func (c *connections) run(ctx context.Context) {
	defer close(c.done)
	c.count(ctx)
	select {
	case <-c.begun:
	case <-ctx.Done():
		return
	}
	ticker := time.NewTicker(connectionsEvery)
	defer ticker.Stop()
	for c.count(ctx); ; c.count(ctx) {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

func (c *connections) count(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectionsEvery/2)
	defer cancel()
	made, now := 0.0, c.st.clock.Now()
	members := c.st.members.ensemble.Members
	counted := make([]*float64, len(members)) // nil for members that do not reply
	var all sync.WaitGroup
	for i, m := range members { // in parallel: a member that does not reply must not delay the others
		all.Go(func() {
			if mntr, err := ensembles.Monitor(ctx, m); err == nil {
				if n, ok := mntr[connectionsCounter]; ok {
					counted[i] = &n
				}
			}
		})
	}
	all.Wait()
	for i, answer := range counted {
		if answer == nil {
			continue // isolated or stopped: it accepts no connections
		}
		n := *answer
		switch last := c.last[i]; {
		case last < 0: // counted before this phase
		case n < last:
			made += n
		default:
			made += n - last
		}
		c.last[i] = n
	}
	if c.at >= 0 {
		c.st.record.Record(&history.Connections{At: now, Phase: c.st.phase.Name, Made: int64(made), Over: now - c.at})
	}
	c.at = now
}
