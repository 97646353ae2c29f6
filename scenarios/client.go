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

// client is one contender of a trial: a subject's client, the tap on its
// connections, and the record of what it does.
type client struct {
	n    int
	st   *stage
	wire wire.Client

	subject atomic.Pointer[recipes.Client]      // nil where it has no session
	heard   atomic.Pointer[func(recipes.Event)] // is called with what the client learns, beside the record; it returns at once

	under  atomic.Pointer[operation] // the one under way; nil without one
	calls  atomic.Int64              // acquires and takes called
	begun  atomic.Int64              // operations
	asking sync.WaitGroup            // see askAfterLoss
	token  atomic.Int64              // of its last grant
	grant  atomic.Int64              // the number of that among all grants of the trial
	moves  atomic.Int64              // its grants and releases so far, or the items that it took
	limit  atomic.Int64              // of its next acquire, in nanoseconds; 0 is none
	back   backOff

	learned atomic.Pointer[recipes.Event] // the last that it learned since it called acquire
}

func newClient(st *stage, n int) *client {
	return &client{n: n, st: st, wire: st.tap.Client(n)}
}

// operation is an acquire, a take, a release or a put under way.
type operation struct {
	op   string        // as Sample.Op
	call time.Duration // when it was called
}

// instant is t on the trial's clock; of the zero time it is now.
func (st *stage) instant(t time.Time) time.Duration {
	if t.IsZero() {
		return st.clock.Now()
	}
	return st.clock.At(t)
}

// event records what the client learns about its grant.
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

// inDoubt says that the client was told that the grant with that token is suspended or
// lost.
func (c *client) inDoubt(token int64) bool {
	e := c.learned.Load()
	return e != nil && e.Token == token && e.Kind != recipes.EventRestored
}

// lost says that the client was told that the grant with that token is lost.
func (c *client) lost(token int64) bool {
	return c.inDoubt(token) && c.learned.Load().Kind == recipes.EventLost
}

// enter calls f, which acquires or takes, and counts that.
func (c *client) enter(op string, call time.Duration, f func() error) error {
	c.calls.Add(1)
	moments := c.st.events.Load()
	moments.acquiring()
	err := c.do(op, call, f)
	moments.acquired(c.n, err == nil)
	return err
}

// do calls f, which is an operation of the client.
func (c *client) do(op string, call time.Duration, f func() error) error {
	c.begun.Add(1)
	c.under.Store(&operation{op, call})
	defer c.under.Store(nil)
	return f()
}

// waiting records the operations that are under way.
func (st *stage) waiting() {
	now := st.clock.Now()
	for _, c := range slices.Concat(st.clients, st.producers) {
		if o := c.under.Load(); o != nil {
			st.record.Record(&history.Waiting{At: now, Phase: st.phase.Name, Client: c.n, Op: o.op, Call: o.call})
		}
	}
}

// acquire acquires, due now.
func (c *client) acquire(ctx context.Context) (recipes.Claim, error) {
	now := c.st.clock.Now()
	return c.acquireDue(ctx, now, now)
}

// acquireDue acquires, which was due at due, and is called at call, which is now.
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
		// The grant may have been in doubt before it returned. Belief begins with the
		// return, so what ended it is recorded once more.
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

// ask has the subject acquire, by its own timed try where the call is given a limit.
func (c *client) ask(ctx context.Context, limit time.Duration) (recipes.Claim, error) {
	if limit > 0 {
		return c.contender().(recipes.Trier).AcquireWithin(ctx, limit)
	}
	return c.contender().Acquire(ctx)
}

// release lets go of a claim. It takes as long as it must, within limits: a release
// that is given up would leave the line standing.
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

// write writes to the fenced resource with the token that the subject has handed out, as
// every holder must.
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

// sample describes an operation that was due and called at the same instant and has
// just returned.
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

// timed takes the times of the recipe's own call, where the client knows them. Belief is
// narrowed by what they may be wrong by: it begins with the return of an acquire, and ends
// with the call of a release. Whatever the clocks say, nothing was called before we asked for
// it, or returned after we were told.
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
		s.Due = called // the harness did not wait
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

// outcome says what an error proves. Only an answer, a cancellation that was
// cleaned up, or the end of the session proves that nothing happened.
func outcome(err error) history.Outcome {
	switch {
	case err == nil:
		return history.OK
	case recipes.Indeterminate(err):
		return history.Unknown
	}
	return history.Failed
}
