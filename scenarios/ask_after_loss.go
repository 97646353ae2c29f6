package scenarios

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// settleAfterLoss bounds the time of a recipe, from when it reported a loss, to change its
// answers.
const settleAfterLoss = 50 * time.Millisecond

// askAfterLoss asks the recipe of a client that was notified of the loss of its grant whether it
// still holds, and records the answer, unless the client has begun another operation by then. If
// the recipe answers yes, it is queried again a moment later. It returns at once; closing the client
// waits for the answer.
func (c *client) askAfterLoss(e recipes.Event) {
	d := c.driver()
	if e.Kind != recipes.EventLost || e.Token == 0 || d == nil || !d.Offers("holds") {
		return
	}
	begun := c.begun.Load()
	c.asking.Go(func() {
		for range 2 {
			asked := c.st.clock.Now()
			holds, err := d.Holds()
			if err != nil || c.begun.Load() != begun {
				return
			}
			if !holds || asked > c.st.instant(e.At)+settleAfterLoss {
				c.st.record.Record(&history.Holds{Asked: asked, At: c.st.clock.Now(), Client: c.n, Session: e.Session, Holds: holds})
				return
			}
			_ = pause(context.Background(), settleAfterLoss+time.Millisecond)
		}
	})
}
