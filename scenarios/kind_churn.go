package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

func init() {
	addKind(kind{
		name:   "churn",
		about:  "clients re-enter at once, a closed loop, while faults are active",
		pace:   history.ByClients,
		fields: []string{"duration", "faults", "size", "contenders"},
		validate: func(p *Phase, bad problemFunc) {
			p.duration(bad)
			between(bad, "contenders", p.Contenders, 0, maxClients)
		},
		tooFew: func(p *Phase, clients int) string {
			if clients < p.Contenders {
				return fmt.Sprintf("%d are fewer than contenders (%d)", clients, p.Contenders)
			}
			return ""
		},
		effort: timedEffort,
		run: func(ctx context.Context, st *stage) error {
			if st.queue() {
				return exchange(ctx, st)
			}
			return churn(ctx, st)
		},
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
