package stage

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// SnapshotAfterLoad takes a snapshot of the queue after all clients have left. It records nothing while a
// client is still removing its node.
func (st *Stage) SnapshotAfterLoad(ctx context.Context) error {
	st.awaitEmpty(ctx)
	before, asking := st.Tap.Totals(), st.asking()
	r, err := st.observe(ctx, idleFor)
	if now := st.Tap.Totals(); err == nil && !asking && changes(now) == changes(before) {
		st.Record.Record(r)
	}
	return ctx.Err()
}

// Loop is the loop of one client in a churn. A client whose session has ended opens a new one;
// after other errors it backs off.
func (c *Client) Loop(ctx context.Context) {
	for ctx.Err() == nil {
		claim, err := c.Acquire(ctx)
		if err == nil {
			c.Hold(ctx, claim)
			err = c.Release(ctx, claim)
		}
		if err != nil {
			c.RecoverAfter(ctx, err)
			continue
		}
		c.back.succeeded()
	}
}

// watchesGrant is the minimum hold time for waiting, at the end of a hold, until a suspended grant is restored
// or lost. With a shorter hold time the holder releases at once.
const watchesGrant = 100 * time.Millisecond

// Hold keeps the claim for the phase's hold time and writes to the resource.
func (c *Client) Hold(ctx context.Context, claim recipes.Claim) {
	until := time.Now().Add(c.Stage.Phase.Hold)
	c.write(ctx, claim)
	c.checkSometimes(ctx, claim)
	_ = Pause(ctx, time.Until(until))
	if c.Stage.Phase.Hold >= watchesGrant {
		_ = Poll(ctx, c.Stage.Patience(), func(context.Context) (bool, error) {
			return !c.inDoubt(claim.Token) || c.Lost(claim.Token), nil
		})
	}
}

// Exchange is the loop of one client: it puts while the phase lasts, and takes until taking is
// done.
func (c *Client) Exchange(phase, taking context.Context) {
	for phase.Err() == nil {
		err := c.exchangePut(phase)
		if err == nil { // otherwise all clients might wait for an item
			_, err = c.take(taking)
		}
		if err != nil {
			c.RecoverAfter(taking, err) // not phase: without a session the client could not take the remaining items
			continue
		}
		c.back.succeeded()
		_ = Pause(phase, c.Stage.Phase.Hold)
	}
	c.ConsumeSlowly(taking)
}

// exchangePut puts an item unless the phase is over. The client counts as putting before it checks,
// so that no put can follow once the phase is over and no client is putting.
func (c *Client) exchangePut(phase context.Context) error {
	c.Stage.putting.Add(1)
	defer c.Stage.putting.Add(-1)
	if phase.Err() != nil {
		return phase.Err()
	}
	_, err := c.PutNext(phase)
	return err
}

// connectLimit bounds the time in which all sessions must be connected, at first and again after
// faults.
const connectLimit = 10 * time.Minute

// ConnectAll opens the clients' sessions and records how long each took.
func (st *Stage) ConnectAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectLimit, fmt.Errorf("not all sessions were connected within %v", connectLimit))
	defer cancel()
	var stand atomic.Int64
	return Each(st.Clients, OpensAtOnce, func(c *Client) error {
		call := st.Clock.Now()
		if err := c.Open(ctx); err != nil {
			return err
		}
		st.Record.Record(&history.Connected{At: st.Clock.Now(), Phase: st.Phase.Name, Client: c.Number, Call: call})
		st.Report("%d of %d sessions", stand.Add(1), len(st.Clients))
		return nil
	})
}

// ConnectedAgain waits until no client is reconnecting, and opens new sessions for clients that lost
// their session.
func (st *Stage) ConnectedAgain(ctx context.Context) error {
	st.Report("waiting until all sessions are connected")
	err := Poll(ctx, connectLimit, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(st.Clients, (*Client).returning), nil
	})
	if err != nil {
		return fmt.Errorf("wait until every client is connected: %w", err)
	}
	return Each(st.Clients, OpensAtOnce, func(c *Client) error {
		if c.Wire.Session().Server != "" {
			return nil
		}
		return c.Reopen(ctx)
	})
}

func (c *Client) returning() bool {
	s := c.Wire.Session()
	return s.Server == "" && !s.Expired && c.Stage.Clock.Now() < s.Deadline()
}
