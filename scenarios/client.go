package scenarios

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
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

	under  atomic.Pointer[operation]
	calls  atomic.Int64   // calls of acquire and take
	begun  atomic.Int64   // operations begun
	asking sync.WaitGroup // see askAfterLoss
	token  atomic.Int64   // of the last grant
	grant  atomic.Int64   // number of the last grant among all grants of the trial
	moves  atomic.Int64   // grants and releases, or items taken
	limit  atomic.Int64
	back   backOff

	learned atomic.Pointer[recipes.Event] // the last event since the call of acquire
}

func newClient(st *stage, n int) *client {
	return &client{n: n, st: st, wire: st.tap.Client(n)}
}

type operation struct {
	op   string
	call time.Duration
}

// instant converts t to the trial's clock; the zero time means now.
func (st *stage) instant(t time.Time) time.Duration {
	if t.IsZero() {
		return st.clock.Now()
	}
	return st.clock.At(t)
}

// event records an event of the client's grant.
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

func (c *client) enter(op string, call time.Duration, f func() error) error {
	c.calls.Add(1)
	moments := c.st.events.Load()
	moments.acquiring()
	err := c.do(op, call, f)
	moments.acquired(c.n, err == nil)
	return err
}

func (c *client) do(op string, call time.Duration, f func() error) error {
	c.begun.Add(1)
	c.under.Store(&operation{op, call})
	defer c.under.Store(nil)
	return f()
}

func (st *stage) waiting() {
	now := st.clock.Now()
	for _, c := range slices.Concat(st.clients, st.producers) {
		if o := c.under.Load(); o != nil {
			st.record.Record(&history.Waiting{At: now, Phase: st.phase.Name, Client: c.n, Op: o.op, Call: o.call})
		}
	}
}

func (c *client) acquire(ctx context.Context) (recipes.Claim, error) {
	now := c.st.clock.Now()
	return c.acquireDue(ctx, now, now)
}

// acquireDue acquires. The acquire was due at due and is called at call, which is now.
func (c *client) acquireDue(ctx context.Context, due, call time.Duration) (claim recipes.Claim, err error) {
	c.learned.Store(nil)
	limit := time.Duration(c.limit.Swap(0))
	err = c.enter(history.Acquire, call, func() error { claim, err = c.ask(ctx, limit); return err })
	if c.st.dial != nil {
		claim.Path = wire.RealPath(claim.Path)
	}
	returned := c.st.instant(claim.At)
	if err == nil && claim.Token == 0 && claim.Path != "" {
		claim.Token = c.st.observer.czxid(ctx, claim.Path)
	}
	s := c.sample(history.Acquire, call, err)
	s.Limit = limit
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
		c.st.holder.holds(c.n)
		c.grant.Store(c.st.grants.Add(1))
		c.moves.Add(1)
	}
	return claim, err
}

// ask makes the subject acquire, with its own timed try if the call has a limit.
func (c *client) ask(ctx context.Context, limit time.Duration) (recipes.Claim, error) {
	if limit > 0 {
		return c.contender().(recipes.Trier).AcquireWithin(ctx, limit)
	}
	return c.contender().Acquire(ctx)
}

// release releases a claim. It does not end early with ctx: an abandoned release would leave the
// node in the queue.
func (c *client) release(ctx context.Context, claim recipes.Claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.st.scenario.SessionTimeout+5*time.Second)
	defer cancel()
	c.st.holder.letGo(ctx, c.n)
	due := c.st.clock.Now()
	err := c.do(history.Release, due, func() error { return c.contender().Release(ctx) })
	s := c.sample(history.Release, due, err)
	s.Token, s.Session, s.Path = claim.Token, claim.Session, claim.Path
	c.timed(&s)
	c.st.record.Sample(s)
	return err
}

func (c *client) write(ctx context.Context, claim recipes.Claim) {
	due := c.st.clock.Now()
	version, err := c.st.fence.write(ctx, claim.Token, c.grant.Load())
	s := c.sample(history.Write, due, err)
	s.Token, s.Session, s.Version = claim.Token, claim.Session, version
	if err != nil && !errors.Is(err, errFenced) {
		s.Outcome = history.Unknown
	}
	c.st.record.Sample(s)
}

// sample describes an operation that was due and called at the same time and has just returned.
func (c *client) sample(op string, due time.Duration, err error) history.Sample {
	s := history.Sample{
		Client: c.n, Phase: c.st.phase.Name, Round: c.st.round, Op: op,
		Due: due, Call: due, Return: c.st.clock.Now(), Outcome: outcome(err),
	}
	known := c.wire.Known()
	if s.Zxid = known.Zxid; known.RemovedAt >= due {
		s.Removed = known.Removed
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
