package scenarios

import (
	"context"
	"errors"
	"fmt"
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
	t    *trial
	wire *wire.Client

	mu      sync.Mutex
	subject recipes.Client

	busy  atomic.Int64 // when the operation under way was called, plus 1 ns; 0 without one
	calls atomic.Int64 // operations called

	learned atomic.Pointer[recipes.Event] // the last that it learned about a grant

	lost  atomic.Int64        // token of the last grant that the client learned it had lost
	heard func(recipes.Event) // told what the client learns, beside the record; nil is allowed
}

func newClient(t *trial, n int) *client {
	return &client{n: n, t: t, wire: t.tap.Client(n)}
}

// open gives the client a new session. Clients are spread over the members, the
// n-th beginning with the n-th.
func (c *client) open(ctx context.Context) error {
	servers := c.t.lab.Ensemble.Servers()
	k := c.n % len(servers)
	subject, err := c.t.cell.Subject.Open(ctx, recipes.Env{
		Servers: append(append([]string(nil), servers[k:]...), servers[:k]...),
		Parent:  c.t.parent, Timeout: c.t.scenario.SessionTimeout, Dial: c.dialer(),
		MaxPacket: c.t.packet(), Events: c.event,
	})
	if err != nil {
		return fmt.Errorf("client %d: %w", c.n, err)
	}
	if err := c.t.suits(subject); err != nil {
		return errors.Join(err, subject.Close(ctx))
	}
	c.mu.Lock()
	c.subject = subject
	c.mu.Unlock()
	return nil // the tap has noted the session: evidence.go
}

// packetSize is room for a list of n names, with plenty to spare.
func packetSize(n int) int { return max(64<<10, n*64+4096) }

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
	c.t.record.Record(&history.Session{At: c.t.clock.Now(), Event: event, Client: c.n, Token: e.Token, Session: c.wire.Session().ID})
	if event == history.Lost {
		c.lost.Store(e.Token)
	}
	c.mu.Lock()
	heard := c.heard
	c.mu.Unlock()
	if heard != nil {
		heard(e)
	}
}

func (c *client) contender() recipes.Contender {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subject.(recipes.Contender)
}

// acquire acquires, due now.
func (c *client) acquire(ctx context.Context) (recipes.Claim, error) {
	due := c.t.clock.Now()
	c.begin(due)
	moments := c.t.moments.Load()
	moments.acquiring()
	claim, err := c.contender().Acquire(ctx)
	moments.acquired(c.n, err == nil)
	c.busy.Store(0)
	if c.t.dial != nil {
		claim.Path = wire.RealPath(claim.Path)
	}
	s := c.sample(history.Acquire, due, err)
	s.Token, s.Session, s.Path = claim.Token, claim.Session, claim.Path
	if !claim.At.IsZero() {
		s.Return -= time.Since(claim.At)
	}
	c.t.record.Sample(s)
	if e := c.learned.Load(); e != nil && e.Token == claim.Token && e.Kind != recipes.EventRestored {
		// The grant was in doubt before the clock was read for its return. Belief
		// begins with the return, so what ended it is noted once more.
		c.event(*e)
	}
	if err == nil {
		c.t.pin.holds(c.n)
		c.t.grants.Add(1)
	}
	return claim, err
}

// acquireFirst acquires where nobody should be in the way. Who is not granted in time,
// because something was left behind, is looked at while it waits, which is for the
// verdicts to judge; then it gives up.
func (c *client) acquireFirst(ctx context.Context) (recipes.Claim, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan granted, 1)
	go func() {
		claim, err := c.acquire(ctx)
		done <- granted{c: c, claim: claim, err: err}
	}()
	limit := c.t.patience()
	select {
	case g := <-done:
		return g.claim, g.err
	case <-time.After(limit):
	}
	_, _ = c.t.look(ctx, stuckLook)
	cancel()
	select {
	case g := <-done:
		if g.err == nil {
			return g.claim, nil // late, but had
		}
	case <-time.After(limit): // it cannot be called off
		c.close()
	}
	return recipes.Claim{}, fmt.Errorf("%w within %v, though nobody is known to hold", errNoGrant, limit)
}

// release lets go of a claim. It takes as long as it must, within limits: a release
// that is given up would leave the line standing.
func (c *client) release(ctx context.Context, claim recipes.Claim) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.t.scenario.SessionTimeout+5*time.Second)
	defer cancel()
	c.t.pin.letGo(ctx, c.n)
	due := c.t.clock.Now()
	err := c.contender().Release(ctx)
	s := c.sample(history.Release, due, err)
	s.Token, s.Session, s.Path = claim.Token, claim.Session, claim.Path
	c.t.record.Sample(s)
	return err
}

// write writes to the fenced resource with the claim's token, as every holder must.
func (c *client) write(ctx context.Context, claim recipes.Claim) {
	due := c.t.clock.Now()
	version, err := c.t.harness.write(ctx, claim.Token, c.n)
	s := c.sample(history.Write, due, err)
	s.Token, s.Session, s.Version = claim.Token, claim.Session, version
	if err != nil && !errors.Is(err, errFenced) {
		s.Outcome = history.Unknown
	}
	c.t.record.Sample(s)
}

// sample describes an operation that was due and called at the same instant and has
// just returned.
func (c *client) sample(op string, due time.Duration, err error) history.Sample {
	s := history.Sample{
		Client: c.n, Phase: c.t.phase.Name, Round: c.t.round, Op: op,
		Due: due, Call: due, Return: c.t.clock.Now(), Outcome: outcome(err),
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

// opened says whether the client has a session, or had one until it ended.
func (c *client) opened() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subject != nil
}

// close closes the client's session in good order.
func (c *client) close() {
	c.mu.Lock()
	subject := c.subject
	c.subject = nil
	c.mu.Unlock()
	if subject == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	id := c.wire.Session().ID
	if err := subject.Close(ctx); err == nil {
		c.closed(id)
	}
}

// closed records that the client closes its session.
func (c *client) closed(session int64) {
	c.t.record.Record(&history.Session{At: c.t.clock.Now(), Event: history.Closed, Client: c.n, Session: session})
}

// listen has f told what the client learns about its grant; nil ends that. f must
// return at once.
func (c *client) listen(f func(recipes.Event)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.heard = f
}

// leave closes the session, while the client holds under it. Belief ends at the call.
func (c *client) leave(session int64) error {
	c.mu.Lock()
	subject := c.subject
	c.subject = nil
	c.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	c.closed(session)
	if err := subject.Close(ctx); err != nil {
		return fmt.Errorf("client %d closes its session: %w", c.n, err)
	}
	return nil
}

// reopen replaces a client whose session has ended. It tries until ctx is done: the
// ensemble may be in the middle of an election.
func (c *client) reopen(ctx context.Context) error {
	c.close()
	for {
		err := c.open(ctx)
		if err == nil || ctx.Err() != nil {
			return err
		}
	}
}
