package scenarios

import (
	"context"
	"sync"
)

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
