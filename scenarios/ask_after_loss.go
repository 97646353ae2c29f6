package scenarios

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// settleAfterLoss is how long a recipe may take, from when it reported a loss, to change what it
// answers.
const settleAfterLoss = 50 * time.Millisecond

// askAfterLoss asks a client that was notified that its grant is lost whether its recipe says that
// it holds, and records the answer, unless the client has begun another operation by then. A recipe
// that says so is asked again a moment later. It returns at once; closing the client waits for the
// answer.
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
				return // it has ended, or a release or an acquire has changed what it holds
			}
			if !holds || asked > c.st.instant(e.At)+settleAfterLoss {
				c.st.record.Record(&history.Holds{Asked: asked, At: c.st.clock.Now(), Client: c.n, Session: e.Session, Holds: holds})
				return
			}
			_ = pause(context.Background(), settleAfterLoss+time.Millisecond)
		}
	})
}
