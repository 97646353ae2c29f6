package scenarios

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// A client whose operations fail repeatedly waits between them: backOffLeast at first, twice as
// long each time, up to backOffMost. The seed shortens each wait by up to half.
const (
	backOffLeast = 5 * time.Millisecond
	backOffMost  = time.Second
)

type backOff struct {
	failures int // in succession
	random   *rand.Rand
	total    atomic.Int64 // nanoseconds
}

func (b *backOff) next() time.Duration {
	d := min(backOffLeast<<min(b.failures, 16), backOffMost)
	b.failures++
	return d - time.Duration(b.random.Int64N(int64(d/2)))
}

func (b *backOff) succeeded() { b.failures = 0 }

func (c *client) backOff(ctx context.Context) {
	if c.back.random == nil {
		c.back.random = rand.New(rand.NewPCG(c.st.planned.Seed, uint64(c.n)))
	}
	start := c.st.clock.Now()
	c.st.backing.Add(1)
	_ = pause(ctx, c.back.next())
	c.st.backing.Add(-1)
	c.back.total.Add(int64(c.st.clock.Now() - start))
}

// backingOff returns how many clients wait after errors, as text; "" for none.
func (st *stage) backingOff() string {
	if n := st.backing.Load(); n > 0 {
		return fmt.Sprintf(", %d clients back off after errors", n)
	}
	return ""
}
