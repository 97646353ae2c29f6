package scenarios

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

func init() {
	addKind(kind{
		name:     "churn",
		about:    "everybody re-enters at once, a closed loop, while faults are in force",
		pace:     history.ByClients,
		fields:   []string{"duration", "faults", "size"},
		validate: (*Phase).duration,
		effort:   timedEffort,
		run: func(ctx context.Context, st *stage) error {
			if st.queue() {
				return exchange(ctx, st)
			}
			return churn(ctx, st)
		},
	})
}

// churn sends every client through a closed loop (acquire, write, hold, release,
// again) for the phase's duration.
func churn(ctx context.Context, st *stage) error {
	phase, cancel := context.WithTimeout(ctx, st.phase.Duration)
	defer cancel()
	var clients sync.WaitGroup
	for _, c := range st.clients {
		clients.Go(func() { c.loop(phase) })
	}
	st.during(phase)
	clients.Wait()
	return ctx.Err()
}

// loop is the life of one client in a churn. A client whose session has ended comes
// back with a new one.
func (c *client) loop(ctx context.Context) {
	for ctx.Err() == nil {
		claim, err := c.acquire(ctx)
		if err == nil {
			c.hold(ctx, claim)
			err = c.release(ctx, claim)
		}
		if errors.Is(err, recipes.ErrSessionEnded) && c.reopen(ctx) != nil {
			return // the phase is over
		}
	}
}

// hold keeps the claim for the phase's hold time, and writes to the resource.
func (c *client) hold(ctx context.Context, claim recipes.Claim) {
	until := time.Now().Add(c.st.phase.Hold)
	c.write(ctx, claim)
	c.checkSometimes(ctx, claim)
	_ = pause(ctx, time.Until(until))
}
