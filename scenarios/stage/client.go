package stage

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

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/observer"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// Client is a contender of a trial: the subject's client, the tap on its connections and its recorded operations.
type Client struct {
	Number int
	Stage  *Stage
	Wire   wire.Client

	Subject atomic.Pointer[recipes.Client] // nil without a session
	// successor is the subject with which a fault restarted the client; nil while it runs the trial's subject.
	successor atomic.Pointer[recipes.Subject]

	OnEvent atomic.Pointer[func(recipes.Event)] // called with each event of the client after it was recorded; returns at once

	Pending      atomic.Pointer[operation]
	calls        atomic.Int64   // calls of acquire and take
	begun        atomic.Int64   // operations begun
	HoldsQueries sync.WaitGroup // see queryHoldsAfterLoss
	token        atomic.Int64   // of the last grant
	grant        atomic.Int64   // number of the last grant among all grants of the trial
	Transitions  atomic.Int64   // grants and releases, or items taken
	Limit        atomic.Int64
	backoffState backOff
	modes        *rand.Rand   // chooses the modes of a read-write lock
	shared       atomic.Bool  // other clients may hold at the same time as its last grant
	HasGrant     atomic.Bool  // it has been granted, and its release has not returned
	GrantedAt    atomic.Int64 // when its last acquire returned with a grant
	ReleasedAt   atomic.Int64 // when its last release was called

	LastEvent atomic.Pointer[recipes.Event] // the last event since the call of acquire
}

// NewClient returns client n, which is not open.
func NewClient(st *Stage, n int) *Client {
	return &Client{Number: n, Stage: st, Wire: st.Tap.Client(n)}
}

type operation struct {
	op       string
	calledAt time.Duration
	mode     recipes.Mode // of an acquire of a read-write lock
}

// Instant converts a time to the trial's clock; the zero time is now.
func (st *Stage) Instant(t time.Time) time.Duration {
	if t.IsZero() {
		return st.Clock.Now()
	}
	return st.Clock.At(t)
}

// HandleEvent records an event of the client's grant and passes it to OnEvent.
func (c *Client) HandleEvent(e recipes.Event) {
	if e.Token == 0 && c.HasGrant.Load() { // the driver did not name the token of its grant
		e.Token = c.token.Load()
	}
	c.LastEvent.Store(&e)
	c.recordEvent(e, c.Stage.Instant(e.At))
	c.queryHoldsAfterLoss(e)
	if onEvent := c.OnEvent.Load(); onEvent != nil {
		(*onEvent)(e)
	}
}

func (c *Client) recordEvent(e recipes.Event, at time.Duration) {
	c.Stage.Record.Record(&history.Session{At: at, Event: history.SessionEvent(e.Kind), Client: c.Number, Token: e.Token, Session: cmp.Or(e.Session, c.Wire.Session().ID)})
}

func (c *Client) subjectClient() recipes.Client {
	if s := c.Subject.Load(); s != nil {
		return *s
	}
	return nil
}

func (c *Client) path() int { return c.Number % c.Stage.Scenario.PathCount() }

func (c *Client) contender() recipes.Contender { return c.subjectClient().(recipes.Contender) }

func (c *Client) inDoubt(token int64) bool {
	e := c.LastEvent.Load()
	return e != nil && e.Token == token && e.Kind != recipes.EventRestored
}

// HasLost reports whether the client was notified that the grant with that token is lost.
func (c *Client) HasLost(token int64) bool {
	return c.inDoubt(token) && c.LastEvent.Load().Kind == recipes.EventLost
}

// IsOver reports whether the client was notified that the grant with that token is lost or has ended.
func (c *Client) IsOver(token int64) bool {
	return c.inDoubt(token) && c.LastEvent.Load().Kind != recipes.EventSuspended
}

func (c *Client) track(o operation, f func() error) error {
	c.calls.Add(1)
	trigger := c.Stage.Events.Load()
	trigger.acquiring()
	err := c.do(o, f)
	trigger.acquired(c.Number, err == nil)
	return err
}

func (c *Client) do(o operation, f func() error) error {
	c.begun.Add(1)
	c.Pending.Store(&o)
	defer c.Pending.Store(nil)
	err := CatchPanic(f)
	if p, ok := errors.AsType[PanicError](err); ok {
		c.Stage.End(fmt.Errorf("%s of client %d: %w", o.op, c.Number, p))
	}
	return err
}

// RecordPending records the calls in progress. It must be called before they are cancelled.
func (st *Stage) RecordPending() {
	now := st.Clock.Now()
	for _, c := range slices.Concat(st.Clients, st.Producers) {
		if o := c.Pending.Load(); o != nil {
			st.Record.Record(&history.Waiting{At: now, Phase: st.Phase.Name, Client: c.Number, Op: o.op, Mode: string(o.mode), Call: o.calledAt})
		}
	}
}

// Acquire acquires and records the call. After a grant, a fault of the holder may delay the release; see [Holder].
func (c *Client) Acquire(ctx context.Context) (recipes.Claim, error) {
	if c.Stage.IsBarrier() {
		c.awaitOthersOut(ctx)
		if ctx.Err() != nil {
			return recipes.Claim{}, ctx.Err()
		}
	}
	now := c.Stage.Clock.Now()
	return c.AcquireDue(ctx, now, now)
}

// AcquireDue is like Acquire, but for an operation that was due earlier: the latency counts from due.
func (c *Client) AcquireDue(ctx context.Context, due, call time.Duration) (claim recipes.Claim, err error) {
	c.LastEvent.Store(nil)
	limit, mode := time.Duration(c.Limit.Swap(0)), c.mode()
	err = c.track(operation{history.Acquire, call, mode}, func() error { claim, err = c.callAcquire(ctx, limit, mode); return err })
	if c.Stage.Dial != nil {
		claim.Path = wire.RealPath(claim.Path)
	}
	returned := c.Stage.Instant(claim.At)
	if err == nil && claim.Token == 0 && !claim.Own && claim.Path != "" {
		claim.Token = c.Stage.Observer.Czxid(ctx, claim.Path, cmp.Or(claim.Session, c.Wire.Session().ID))
		if e := c.LastEvent.Load(); e != nil && e.Token == 0 && c.Stage.Instant(e.At) >= returned {
			of := *e
			of.Token = claim.Token
			c.LastEvent.Store(&of)
		}
	}
	s := c.sample(history.Acquire, call, err)
	s.Limit, s.Mode, s.Canceled = limit, string(mode), err != nil && ctx.Err() != nil
	s.TimedOut = errors.Is(err, recipes.ErrNotAcquired)
	s.Due, s.Token, s.Own, s.Session, s.Path = due, claim.Token, claim.Own, claim.Session, claim.Path
	s.Return = min(s.Return, max(s.Call, returned))
	c.useReportedTimes(&s)
	c.Stage.Record.Sample(s)
	if err == nil && c.inDoubt(claim.Token) {
		e := *c.LastEvent.Load()
		c.recordEvent(e, max(s.Return, c.Stage.Instant(e.At)))
	}
	if err == nil {
		c.token.Store(claim.Token)
		c.HasGrant.Store(true)
		c.GrantedAt.Store(int64(s.Return - s.Clock))
		c.shared.Store(c.isShared(mode))
		c.Stage.Holder.set(c.Number)
		c.grant.Store(c.Stage.Grants.Add(1))
		c.Transitions.Add(1)
	}
	return claim, err
}

func (c *Client) callAcquire(ctx context.Context, limit time.Duration, mode recipes.Mode) (recipes.Claim, error) {
	o := recipes.AcquireOptions{Mode: mode}
	if limit > 0 {
		o.Limit = &limit
	}
	if o == (recipes.AcquireOptions{}) {
		return c.contender().Acquire(ctx)
	}
	return c.contender().(recipes.OptionContender).AcquireWith(ctx, o)
}

// Release releases a claim. The end of ctx does not end the release, which would leave the node in line.
func (c *Client) Release(ctx context.Context, claim recipes.Claim) error {
	limit := c.Stage.Scenario.SessionTimeout + 5*time.Second
	if c.Stage.IsBarrier() { // its release waits for the other clients
		limit = c.Stage.GrantTimeout()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	defer c.HasGrant.Store(false)
	c.Stage.Holder.AwaitUnpinned(ctx, c.Number)
	due := c.Stage.Clock.Now()
	err := c.do(operation{op: history.Release, calledAt: due}, func() error { return c.contender().Release(ctx) })
	s := c.sample(history.Release, due, err)
	s.Token, s.Session, s.Path = claim.Token, claim.Session, claim.Path
	c.useReportedTimes(&s)
	c.ReleasedAt.Store(int64(s.Call + s.Clock))
	c.Stage.Record.Sample(s)
	return err
}

// write writes to the fenced resource, unless other clients may hold at the same time.
func (c *Client) write(ctx context.Context, claim recipes.Claim) {
	if c.shared.Load() {
		return
	}
	due := c.Stage.Clock.Now()
	version, err := c.Stage.Fences[c.path()].Write(ctx, claim.Token, c.grant.Load())
	s := c.sample(history.Write, due, err)
	s.Token, s.Session, s.Version = claim.Token, claim.Session, version
	if err != nil && !errors.Is(err, observer.ErrFenced) {
		s.Outcome = history.Unknown
	}
	c.Stage.Record.Sample(s)
}

func (c *Client) sample(op string, due time.Duration, err error) history.Sample {
	s := history.Sample{
		Client: c.Number, Phase: c.Stage.Phase.Name, Round: c.Stage.Round, Op: op,
		Due: due, Call: due, Return: c.Stage.Clock.Now(), Outcome: outcome(err),
	}
	known := c.Wire.Known()
	if s.Zxid = known.Zxid; known.RemovedAt >= due {
		s.Removed = known.Removed
	}
	if s.Notified = known.Notified; !c.Stage.IsBarrier() {
		s.Notified = known.ChangedAt > 0 && known.ChangedAt >= due
	}
	if err != nil {
		s.Err, s.Stuck = err.Error(), errors.Is(err, recipes.ErrStuck)
	}
	return s
}

// useReportedTimes replaces the times of a sample by the times of the recipe's own call, if the client reports them
// and they are within the harness's times. A belief begins with the return of an acquire and ends with the
// call of a release; the possible error of the reported times shortens it.
func (c *Client) useReportedTimes(s *history.Sample) {
	t, ok := c.subjectClient().(recipes.Timed)
	if !ok {
		return
	}
	times := t.Times()
	called, returned := c.Stage.Instant(times.Called), c.Stage.Instant(times.Returned)
	if times.Called.IsZero() || called < s.Call || returned > s.Return {
		return
	}
	earliest, latest := s.Call, s.Return
	if s.Due == s.Call {
		s.Due = called // zkbench added no delay
	}
	s.Call, s.Return = called, returned
	switch s.Op {
	case history.Acquire:
		s.Return = min(s.Return+times.Error, latest)
		s.Clock = s.Return - returned
	case history.Release:
		s.Call = max(s.Call-times.Error, earliest)
		s.Clock = called - s.Call
		s.Due = min(s.Due, s.Call)
	}
}

// outcome returns the outcome that an error proves. Only a reply, a cancellation with clean-up, or the end
// of the session proves that the operation had no effect.
func outcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case recipes.Indeterminate(err):
		return history.Unknown
	}
	return history.Failed
}

// Open opens a client of the trial's subject, or of the successor that replaced it. A panic of the subject
// is returned as an error.
func (c *Client) Open(ctx context.Context) error {
	st := c.Stage
	var subject recipes.Client
	from := cmp.Or(c.successor.Load(), &st.Cell.Subject)
	err := CatchPanic(func() (err error) {
		subject, err = from.Open(ctx, recipes.Env{
			Servers: Rotated(st.Members.Ensemble.Servers(), c.Number+st.Shift), Parent: st.PathParent(c.path()), Timeout: st.Scenario.SessionTimeout,
			Dial: zk.Dialer(c.wrapDialer(c.Wire.Dial)), MaxPacket: maxReply(st.Cell), Events: c.HandleEvent,
			Auth: observer.AuthFor(st.Members.Ensemble), ACL: observer.ACLFor(st.Members.Ensemble),
			Client: c.Number, Permits: st.Scenario.PermitCount(), Parties: len(st.Clients), Connect: c.openListeners, Resource: st.Resource(), Seen: c.observedClaim, Requests: c.requests, LastOutageEnd: st.Shared.recoveredAt,
		})
		return err
	})
	if err != nil {
		return fmt.Errorf("client %d: %w", c.Number, err)
	}
	if err := checkInterface(st.Cell.Subject, subject); err != nil {
		return errors.Join(err, subject.Close(ctx))
	}
	c.Subject.Store(&subject)
	return nil
}

// Rotated returns the servers in order, beginning with the n-th.
func Rotated(servers []string, n int) []string {
	k := n % len(servers)
	return slices.Concat(servers[k:], servers[:k])
}

func (c *Client) wrapDialer(tap wire.Dialer) wire.Dialer {
	if c.Stage.Dial != nil {
		tap = c.Stage.Dial(tap)
	}
	if c.Stage.Shared != nil && c.Number == c.Stage.Cell.Injections[0].Step.Client() {
		tap = c.Stage.Shared.DialTargetFirst(c.Wire, tap)
	}
	return tap
}

// openListeners opens a listener for each member, which a client in another process uses to connect through
// the tap. It returns their addresses in the order in which the client should try them.
func (c *Client) openListeners() (addrs []string, err error) {
	between := c.wrapDialer
	if c.Stage.Dial == nil && c.Stage.Shared == nil {
		between = nil
	}
	for _, server := range Rotated(c.Stage.Members.Ensemble.Servers(), c.Number+c.Stage.Shift) {
		addr, err := c.Wire.Listen(server, between)
		if err != nil {
			return nil, fmt.Errorf("client %d: open a listener for %s: %w", c.Number, server, err)
		}
		addrs = append(addrs, addr)
	}
	return addrs, nil
}

// observedClaim returns the tap's view of the client: its session, and the session's newest node in line.
func (c *Client) observedClaim() recipes.Claim {
	n, _ := c.Wire.Node(c.Stage.Parent)
	return recipes.Claim{Session: c.Wire.Session().ID, Path: n.Path, Token: n.Czxid}
}

// requests returns the number of requests that the client has sent, without pings and authentication.
func (c *Client) requests() int64 {
	sent := c.Wire.Counts().Requests
	return sent.Total() - sent.Of(wire.Auth) - sent.Of(wire.SASL) - sent.Of(wire.SetWatches) - sent.Of(wire.SetWatches2)
}

func (c *Client) IsOpen() bool { return c.Subject.Load() != nil }

// Close closes the client if it is open. If that succeeds, it records that the session is closed.
func (c *Client) Close() {
	id := c.Wire.Session().ID
	if closed, err := c.closeSubject(); closed && err == nil {
		c.recordClosed(id)
	}
}

// Leave closes the session while the client waits. The belief ends at the call, not at its return.
func (c *Client) Leave() error {
	c.recordClosed(c.Wire.Session().ID)
	if _, err := c.closeSubject(); err != nil {
		return fmt.Errorf("client %d: close the session: %w", c.Number, err)
	}
	return nil
}

func (c *Client) closeSubject() (closed bool, err error) {
	c.HoldsQueries.Wait()
	subject := c.Subject.Swap(nil)
	if subject == nil {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second+c.Stage.Scenario.SessionTimeout)
	defer cancel()
	return true, CatchPanic(func() error { return (*subject).Close(ctx) })
}

func (c *Client) recordClosed(session int64) {
	c.Stage.Record.Record(&history.Session{At: c.Stage.Clock.Now(), Event: history.Closed, Client: c.Number, Session: session})
}

// Reopen replaces a client whose session has ended, unless its driver promises that it continues in
// its next session. It retries until ctx is done: an election may be in progress.
func (c *Client) Reopen(ctx context.Context) error {
	if d := c.driver(); d != nil && d.Rejoin() {
		c.backOff(ctx)
		return ctx.Err()
	}
	c.Close()
	if c.Stage.IsBarrier() {
		c.awaitOthersOut(ctx)
	}
	for {
		err := c.Open(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
		c.backOff(ctx)
	}
}

// connectionsEvery is the interval at which the members' connections are read, for a rate per second.
const connectionsEvery = time.Second

// connections counts new connections with the members' own counters, to show the load of reconnecting
// clients after a fault. Between its first count and the first fault it sends no requests, so that they
// do not affect the measurement.
type connections struct {
	st    *Stage
	last  []float64     // by member; -1 before the first reply
	at    time.Duration // of the last count; -1 before the first
	begin func()        // to be called when the first fault is injected
	stop  func()
}

// countConnections starts to count. The connections before the first fault are counted separately, so that they
// do not dilute the first rate.
func countConnections(ctx context.Context, st *Stage) *connections {
	ctx, cancel := context.WithCancel(ctx)
	c := &connections{st: st, last: slices.Repeat([]float64{-1}, len(st.Members.Ensemble.Members)), at: -1}
	begun := make(chan struct{})
	c.begin = sync.OnceFunc(func() { close(begun) })
	var counting sync.WaitGroup
	counting.Go(func() {
		c.count(ctx)
		for err := Await(ctx, begun); err == nil; err = Pause(ctx, connectionsEvery) {
			c.count(ctx)
		}
	})
	c.stop = func() { cancel(); counting.Wait() }
	return c
}

func (c *connections) count(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, connectionsEvery/2)
	defer cancel()
	made, now := 0.0, c.st.Clock.Now()
	for i, mntr := range c.st.Members.counters(ctx) {
		n, ok := mntr["connection_request_count"]
		if !ok {
			continue // isolated or stopped: it accepts no connections
		}
		switch last := c.last[i]; {
		case last < 0: // counted before this phase
		case n < last: // restarted
			made += n
		default:
			made += n - last
		}
		c.last[i] = n
	}
	if c.at >= 0 {
		c.st.Record.Record(&history.Connections{At: now, Phase: c.st.Phase.Name, Made: int64(made), Over: now - c.at})
	}
	c.at = now
}

// lossGracePeriod is the time after the report of a loss in which a recipe may answer that it holds.
const lossGracePeriod = 50 * time.Millisecond

// queryHoldsAfterLoss queries the client's recipe, after the loss of a grant, whether it holds. It records the
// answer, unless the client has begun another operation by then. If the answer is yes, it repeats the query after
// lossGracePeriod. queryHoldsAfterLoss returns at once; closing the client waits for the answer.
func (c *Client) queryHoldsAfterLoss(e recipes.Event) {
	d := c.driverThatOffers("holds")
	if e.Kind != recipes.EventLost || e.Token == 0 || d == nil {
		return
	}
	begun := c.begun.Load()
	c.HoldsQueries.Go(func() {
		for range 2 {
			queried := c.Stage.Clock.Now()
			holds, err := d.Holds()
			if err != nil || c.begun.Load() != begun {
				return
			}
			if !holds || queried > c.Stage.Instant(e.At)+lossGracePeriod {
				c.Stage.Record.Record(&history.Holds{Asked: queried, At: c.Stage.Clock.Now(), Client: c.Number, Session: e.Session, Holds: holds})
				return
			}
			_ = Pause(context.Background(), lossGracePeriod+time.Millisecond)
		}
	})
}

// BeginHolds starts a query to the client's recipe whether it holds; answer waits for the reply. BeginHolds
// returns nil if the driver has no such operation.
func (c *Client) BeginHolds() (answer func() (bool, error)) {
	if d := c.driverThatOffers("holds"); d != nil {
		return d.BeginHolds()
	}
	return nil
}

func (c *Client) driverThatOffers(operation string) *host.Client {
	if d := c.driver(); d != nil && d.Offers(operation) {
		return d
	}
	return nil
}

// BeginEffect writes to an unfenced node on the client's own session, as a holder does its work. finish waits for the
// reply and records it. BeginEffect returns nil if the driver has no such operation or has ended.
func (c *Client) BeginEffect(claim recipes.Claim) (finish func(context.Context)) {
	d := c.driverThatOffers("write")
	if d == nil {
		return nil
	}
	due := c.Stage.Clock.Now()
	answer := d.BeginWrite(c.Stage.Fences[c.path()].Text(claim.Token, c.grant.Load()))
	return func(ctx context.Context) {
		s := c.sample(history.Effect, due, answer(ctx))
		s.Token, s.Session = claim.Token, cmp.Or(claim.Session, s.Session)
		c.useReportedTimes(&s)
		c.Stage.Record.Sample(s)
	}
}

var defaultMix = spec.Mix{Read: 80, Write: 20}

// Holders returns the number of clients that may hold at the same time, not counting readers.
func (st *Stage) Holders() int {
	if st.Cell.Subject.Recipe == recipes.RecipeSemaphore {
		return min(st.Scenario.PermitCount(), len(st.Clients))
	}
	return 1
}

// NonWaiterCount returns the number of clients that need not wait in line: [Stage.Holders], or for a read-write lock
// the clients that hold now.
func (st *Stage) NonWaiterCount() int {
	if st.Cell.Subject.Recipe != recipes.RecipeRWLock {
		return st.Holders()
	}
	n := 0
	for _, c := range st.Clients {
		if c.HasGrant.Load() {
			n++
		}
	}
	return n
}

// mode returns the mode of the client's next acquire of a read-write lock. In an episode the modes alternate
// from client to client, and from each acquire of a client to its next.
func (c *Client) mode() recipes.Mode {
	st := c.Stage
	if st.Cell.Subject.Recipe != recipes.RecipeRWLock {
		return ""
	}
	mix := st.Scenario.Mix
	if mix == (spec.Mix{}) {
		switch {
		case st.Phase.Kind == spec.EpisodeKind && !st.Counting.Load():
			if (int64(c.Number)+c.calls.Load())%2 == 1 {
				return recipes.Read
			}
			return recipes.Write
		case spec.KindNamed(st.Phase.Kind).Pace == history.ByHarness:
			return recipes.Write
		}
		mix = defaultMix
	}
	if st.Phase.Single() {
		return recipes.Write
	}
	if c.modes == nil {
		c.modes = rand.New(rand.NewPCG(st.Planned.Seed, uint64(c.Number)<<1|1))
	}
	if c.modes.IntN(mix.Read+mix.Write) < mix.Read {
		return recipes.Read
	}
	return recipes.Write
}

// isShared reports whether other clients may hold at the same time as this client after an acquire in this mode.
// Such a grant has no fencing token.
func (c *Client) isShared(mode recipes.Mode) bool {
	return mode == recipes.Read || c.Stage.Cell.Subject.Recipe == recipes.RecipeSemaphore || c.Stage.IsBarrier()
}
