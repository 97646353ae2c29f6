package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// connectLimit bounds the time in which all sessions must be connected, at first and again after
// faults.
const connectLimit = 10 * time.Minute

func init() {
	addKind(kind{
		name:     history.ConnectPhase,
		about:    fmt.Sprintf("opens all sessions, %d at a time, and keeps them idle for the duration while faults are active", opensAtOnce),
		pace:     history.ByHarness,
		fields:   []string{"duration", "faults"},
		opens:    true,
		validate: (*Phase).duration,
		effort: func(p *Phase, clients int) time.Duration {
			return p.Duration + time.Duration(clients)*time.Millisecond
		},
		run: connect,
	})
}

// connect opens a session for every client, which then does nothing. It measures the cost of
// sessions, and their fate under faults.
func connect(ctx context.Context, st *stage) error {
	loads := st.watchLoads(ctx)
	defer loads.stop()
	before := memoryNow()
	if err := st.connectAll(ctx); err != nil {
		return err
	}
	loads.opening.Store(false)
	st.recordFootprint(before)
	phase, _, end := st.timed(ctx)
	defer end()
	st.playFaults(phase)
	return st.connectedAgain(ctx)
}

// connectAll opens the clients' sessions and records how long each took.
func (st *stage) connectAll(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, connectLimit, fmt.Errorf("not all sessions are connected within %v", connectLimit))
	defer cancel()
	var stand atomic.Int64
	return each(st.clients, opensAtOnce, func(c *client) error {
		call := st.clock.Now()
		if err := c.open(ctx); err != nil {
			return err
		}
		st.record.Record(&history.Connected{At: st.clock.Now(), Phase: st.phase.Name, Client: c.n, Call: call})
		st.report("%d of %d sessions", stand.Add(1), len(st.clients))
		return nil
	})
}

// connectedAgain waits until no client is reconnecting, and opens new sessions for clients that lost
// their session.
func (st *stage) connectedAgain(ctx context.Context) error {
	st.report("waiting until all are connected")
	err := poll(ctx, connectLimit, func(context.Context) (bool, error) {
		return !slices.ContainsFunc(st.clients, (*client).returning), nil
	})
	if err != nil {
		return fmt.Errorf("wait until every client is connected: %w", err)
	}
	return each(st.clients, opensAtOnce, func(c *client) error {
		if c.wire.Session().Server != "" {
			return nil
		}
		return c.reopen(ctx)
	})
}

// returning reports whether the client is disconnected and may still have its session.
func (c *client) returning() bool {
	s := c.wire.Session()
	return s.Server == "" && !s.Expired && c.st.clock.Now() < s.Deadline()
}
