package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// churn sends every client through a closed loop (acquire, write, hold, release,
// again) for the phase's duration, while the phase's faults strike.
func (t *trial) churn(ctx context.Context) error {
	phase, cancel := context.WithTimeout(ctx, t.phase.Duration)
	defer cancel()
	var clients sync.WaitGroup
	for _, c := range t.clients {
		clients.Go(func() { c.loop(phase) })
	}
	stop := t.tick(phase)
	err := t.strike(phase)
	<-phase.Done()
	clients.Wait()
	stop()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// loop is the life of one client in a churn. A client whose session has ended comes
// back with a new one.
func (c *client) loop(ctx context.Context) {
	for ctx.Err() == nil {
		claim, err := c.acquire(ctx)
		switch {
		case err == nil:
			c.hold(ctx, claim)
			err = c.release(ctx, claim)
		}
		if errors.Is(err, recipes.ErrSessionEnded) {
			if c.reopen(ctx) != nil {
				return // the phase is over
			}
		}
	}
}

// hold keeps the claim for the phase's hold time, and writes to the resource.
func (c *client) hold(ctx context.Context, claim recipes.Claim) {
	until := time.After(c.t.phase.Hold)
	c.write(ctx, claim)
	c.checkSometimes(ctx, claim)
	select {
	case <-until:
	case <-ctx.Done():
	}
}

// tick reports progress every now and then until stopped.
func (t *trial) tick(ctx context.Context) (stop func()) {
	start := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			fault := ""
			if f := t.fault.Load(); f != nil {
				fault = f.Fault + " on " + f.Target
			}
			t.tell(fmt.Sprintf("%v of %v", time.Since(start).Truncate(time.Second), t.phase.Duration), fault)
			select {
			case <-time.After(200 * time.Millisecond):
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { <-done }
}
