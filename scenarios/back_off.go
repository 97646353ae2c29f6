package scenarios

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A client whose operations fail, one after the other, waits between them: from
// backOffLeast on twice as long each time, up to backOffMost, of which the seed takes off
// up to a half.
const (
	backOffLeast = 5 * time.Millisecond
	backOffMost  = time.Second
)

// backOff is a client's waits after errors. Only the client's own loop waits.
type backOff struct {
	failures int // in a row
	random   *rand.Rand
	total    atomic.Int64 // nanoseconds waited so far
}

// next returns how long to wait after another failure.
func (b *backOff) next() time.Duration {
	d := min(backOffLeast<<min(b.failures, 16), backOffMost)
	b.failures++
	return d - time.Duration(b.random.Int64N(int64(d/2)))
}

// succeeded says that an operation has not failed.
func (b *backOff) succeeded() { b.failures = 0 }

// backOff waits after an error.
func (c *client) backOff(ctx context.Context) {
	if c.back.random == nil {
		c.back.random = rand.New(rand.NewPCG(c.st.planned.Seed, uint64(c.n)))
	}
	start := c.st.clock.Now()
	c.st.backing.Add(1)
	_ = pause(ctx, c.back.next()) // the caller sees that ctx is done
	c.st.backing.Add(-1)
	c.back.total.Add(int64(c.st.clock.Now() - start))
}

// backingOff says how many clients wait after errors; "" where none does.
func (st *stage) backingOff() string {
	if n := st.backing.Load(); n > 0 {
		return fmt.Sprintf(", %d clients back off after errors", n)
	}
	return ""
}
