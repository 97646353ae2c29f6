package scenarios

import (
	"context"
	"errors"
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
	wire *wire.Client

	subject atomic.Pointer[recipes.Client]      // nil where it has no session
	heard   atomic.Pointer[func(recipes.Event)] // is called with what the client learns, beside the record; it returns at once

	busy  atomic.Int64 // when the operation under way was called, plus 1 ns; 0 without one
	calls atomic.Int64 // operations called

	learned atomic.Pointer[recipes.Event] // the last that it learned about a grant
}

func newClient(st *stage, n int) *client {
	return &client{n: n, st: st, wire: st.tap.Client(n)}
}

// event records what the client learns about its grant, at the instant it does.
func (c *client) event(e recipes.Event) {
	event := history.Lost
	switch e.Kind {
	case recipes.EventSuspended:
		event = history.Suspended
	case recipes.EventRestored:
		event = history.Restored
	}
	c.learned.Store(&e)
	c.st.record.Record(&history.Session{At: c.st.clock.Now(), Event: event, Client: c.n, Token: e.Token, Session: c.wire.Session().ID})
	if heard := c.heard.Load(); heard != nil {
		(*heard)(e)
	}
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

// operation calls f, which acquires or takes, and counts that.
func (c *client) operation(due time.Duration, f func() error) error {
	c.calls.Add(1)
	c.busy.Store(int64(due) + 1)
	moments := c.st.events.Load()
	moments.acquiring()
	err := f()
	moments.acquired(c.n, err == nil)
	c.busy.Store(0)
	return err
}

// acquire acquires, due now.
func (c *client) acquire(ctx context.Context) (claim recipes.Claim, err error) {
	due := c.st.clock.Now()
	err = c.operation(due, func() error { claim, err = c.contender().Acquire(ctx); return err })
	if c.st.dial != nil {
		claim.Path = wire.RealPath(claim.Path)
	}
	s := c.sample(history.Acquire, due, err)
	s.Token, s.Session, s.Path = claim.Token, claim.Session, claim.Path
	if !claim.At.IsZero() {
		s.Return -= time.Since(claim.At)
	}
	c.st.record.Sample(s)
	if c.inDoubt(claim.Token) {
		// The grant was in doubt before the clock was read for its return. Belief
		// begins with the return, so what ended it is recorded once more.
		c.event(*c.learned.Load())
	}
	if err == nil {
		c.st.holder.holds(c.n)
		c.st.grants.Add(1)
	}
	return claim, err
}

// release lets go of a claim. It takes as long as it must, within limits: a release
// that is given up would leave the line standing.
func (c *client) release(ctx context.Context, claim recipes.Claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.st.scenario.SessionTimeout+5*time.Second)
	defer cancel()
	c.st.holder.letGo(ctx, c.n)
	due := c.st.clock.Now()
	err := c.contender().Release(ctx)
	s := c.sample(history.Release, due, err)
	s.Token, s.Session, s.Path = claim.Token, claim.Session, claim.Path
	c.st.record.Sample(s)
	return err
}

// write writes to the fenced resource with the claim's token, as every holder must.
func (c *client) write(ctx context.Context, claim recipes.Claim) {
	due := c.st.clock.Now()
	version, err := c.st.fence.write(ctx, claim.Token, c.n)
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
		s.Err = err.Error()
	}
	return s
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
