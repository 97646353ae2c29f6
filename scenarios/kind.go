package scenarios

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// runKind has the behaviour of each kind of phase, by name. Afterwards every client has a session and
// none is in the queue.
var runKind = map[string]func(ctx context.Context, st *stage) error{}

func addKind(k spec.Kind, run func(ctx context.Context, st *stage) error) {
	spec.RegisterKind(k)
	runKind[k.Name] = run
}

func init() {
	addKind(spec.Kind{
		Name:   "churn",
		About:  "clients re-enter at once, a closed loop, while faults are active",
		Pace:   history.ByClients,
		Meets:  true,
		Fields: []string{"duration", "faults", "size", "contenders"},
		Validate: func(p *spec.Phase, bad spec.ProblemFunc) {
			p.CheckDuration(bad)
			spec.Between(bad, "contenders", p.Contenders, 0, spec.MaxClients)
		},
		TooFew: func(p *spec.Phase, clients int) string {
			if clients < p.Contenders {
				return fmt.Sprintf("%d are fewer than contenders (%d)", clients, p.Contenders)
			}
			return ""
		},
	}, func(ctx context.Context, st *stage) error {
		if st.queue() {
			return exchange(ctx, st)
		}
		return churn(ctx, st)
	})
}

// churn runs every client in a closed loop (acquire, write, hold, release) for the phase's
// duration.
func churn(ctx context.Context, st *stage) error {
	phase, _, end := st.timed(ctx)
	defer end()
	var clients sync.WaitGroup
	for _, c := range st.clients {
		clients.Go(func() { c.loop(phase) })
	}
	st.playFaults(phase)
	clients.Wait()
	return st.snapshotAfterLoad(ctx)
}

// snapshotAfterLoad takes a snapshot of the queue after all clients have left. It records nothing while a
// client is still removing its node.
func (st *stage) snapshotAfterLoad(ctx context.Context) error {
	st.awaitEmpty(ctx)
	before, asking := st.tap.Totals(), st.asking()
	r, err := st.observe(ctx, idleFor)
	if now := st.tap.Totals(); err == nil && !asking && changes(now) == changes(before) {
		st.record.Record(r)
	}
	return ctx.Err()
}

// loop is the loop of one client in a churn. A client whose session has ended opens a new one;
// after other errors it backs off.
func (c *client) loop(ctx context.Context) {
	for ctx.Err() == nil {
		claim, err := c.acquire(ctx)
		if err == nil {
			c.hold(ctx, claim)
			err = c.release(ctx, claim)
		}
		if err != nil {
			c.recoverAfter(ctx, err)
			continue
		}
		c.back.succeeded()
	}
}

// watchesGrant is the hold time from which a holder that is notified of suspension waits for the
// outcome. With a shorter hold it releases.
const watchesGrant = 100 * time.Millisecond

// hold keeps the claim for the phase's hold time and writes to the resource.
func (c *client) hold(ctx context.Context, claim recipes.Claim) {
	until := time.Now().Add(c.st.phase.Hold)
	c.write(ctx, claim)
	c.checkSometimes(ctx, claim)
	_ = pause(ctx, time.Until(until))
	if c.st.phase.Hold >= watchesGrant {
		_ = poll(ctx, c.st.patience(), func(context.Context) (bool, error) {
			return !c.inDoubt(claim.Token) || c.lost(claim.Token), nil
		})
	}
}

// exchange is the churn of a queue, a closed loop: each client puts an item and takes one, for the
// phase's duration. There are never more items than clients.
func exchange(ctx context.Context, st *stage) error {
	phase, _, end := st.timed(ctx)
	defer end()
	taking, stop := st.consumerContext(ctx)
	var clients sync.WaitGroup
	defer clients.Wait()
	defer stop()
	for _, c := range st.clients {
		clients.Go(func() { c.exchange(phase, taking) })
	}
	st.playFaults(phase)
	return st.waitQueueEmpty(ctx, st.patience())
}

// exchange is the loop of one client: it puts while the phase lasts, and takes until taking is
// done.
func (c *client) exchange(phase, taking context.Context) {
	for phase.Err() == nil {
		err := c.exchangePut(phase)
		if err == nil { // otherwise all clients might wait for an item
			_, err = c.take(taking)
		}
		if err != nil {
			c.recoverAfter(taking, err) // not phase: without a session the client could not take the remaining items
			continue
		}
		c.back.succeeded()
		_ = pause(phase, c.st.phase.Hold)
	}
	c.consumeSlowly(taking)
}

// exchangePut puts an item unless the phase is over. The client counts as putting before it checks,
// so that no put can follow once the phase is over and no client is putting.
func (c *client) exchangePut(phase context.Context) error {
	c.st.putting.Add(1)
	defer c.st.putting.Add(-1)
	if phase.Err() != nil {
		return phase.Err()
	}
	_, err := c.putNext(phase)
	return err
}

// connectLimit bounds the time in which all sessions must be connected, at first and again after
// faults.
const connectLimit = 10 * time.Minute

func init() {
	addKind(spec.Kind{
		Name:     history.ConnectPhase,
		About:    fmt.Sprintf("opens all sessions, %d at a time, and keeps them idle for the duration while faults are active", opensAtOnce),
		Pace:     history.ByHarness,
		Fields:   []string{"duration", "faults"},
		Opens:    true,
		Meets:    true,
		Validate: (*spec.Phase).CheckDuration,
	}, connect)
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

func (c *client) returning() bool {
	s := c.wire.Session()
	return s.Server == "" && !s.Expired && c.st.clock.Now() < s.Deadline()
}
