package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// deliver is the drain of a queue: all clients are idle consumers, one producer puts
// an item, and the next only when all are idle again. A round has as many items as
// there are consumers. Nothing else happens, so what is counted on the wire over a
// round is what deliveries cost.
func (t *trial) deliver(ctx context.Context) error {
	if err := t.hire(ctx, 1); err != nil {
		return err
	}
	settle, err := t.newSettling(ctx, t.cell.Subject.Formulas.Deliver != nil)
	if err != nil {
		return err
	}
	d := &delivery{settling: settle, taken: make(chan string, len(t.clients))}
	if err := d.run(ctx); err != nil {
		return err
	}
	t.dismiss()
	return t.renew(ctx)
}

// delivery is the phase.
type delivery struct {
	*settling
	taken chan string // identities of items, as they are taken
}

func (d *delivery) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var consumers sync.WaitGroup
	defer consumers.Wait()
	defer cancel()
	for _, c := range d.clients {
		consumers.Go(func() { d.consume(ctx, c) })
	}
	base, err := d.wait(ctx, d.quiet.wire, 0, int64(len(d.clients)))
	if err != nil {
		return err
	}
	for round := 1; round <= d.phase.Rounds; round++ {
		if base, err = d.deal(ctx, round, base); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	// All consumers are idle: nothing that a look at every member does not see.
	return d.emptied(ctx)
}

// consume takes items and tells which.
func (d *delivery) consume(ctx context.Context, c *client) {
	for ctx.Err() == nil {
		id, err := c.take(ctx)
		if err != nil {
			c.mend(ctx, err)
			continue
		}
		select {
		case d.taken <- id:
		case <-ctx.Done():
		}
	}
}

// deal is one round: it delivers an item for each consumer, and records what that
// cost. It returns the counts at its end.
func (d *delivery) deal(ctx context.Context, round int, base counts) (now counts, err error) {
	n := len(d.clients)
	cost := d.cell.Subject.Formulas.Deliver
	if cost == nil {
		cost = func(int, int) recipes.Cost { return recipes.Cost{} }
	}
	for k := 1; k <= n; k++ {
		d.tell(fmt.Sprintf("round %d of %d, %d of %d", round, d.phase.Rounds, k, n), "")
		id := d.itemID(d.producers[0].n)
		if err := d.producers[0].put(ctx, id, d.clock.Now()); err != nil {
			return now, fmt.Errorf("put item %s: %w", id, err)
		}
		if err := d.await(ctx, id); err != nil {
			return now, err
		}
		expected := cost(n, k).Notifications
		if now, err = d.wait(ctx, base.wire, expected, int64(n)); err != nil {
			return now, err
		}
	}
	d.account(base, now, round, cost(n, n))
	return now, nil
}

// await returns when the item has been taken.
func (d *delivery) await(ctx context.Context, id string) error {
	limit := time.After(d.patience())
	for {
		select {
		case got := <-d.taken:
			if got == id {
				return nil
			}
		case <-limit:
			if err := d.lookStuck(ctx); err != nil {
				return err
			}
			return fmt.Errorf("nobody has taken item %s within %v", id, d.patience())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// account records what the round cost, beside what the formula says. A delivery
// counts as a hand-off.
func (d *delivery) account(base, now counts, round int, want recipes.Cost) {
	r := d.traffic(history.OfHandoff, len(d.clients), round, base, now)
	if d.cell.Subject.Formulas.Deliver != nil {
		r.ExpectedNotifications, r.ExpectedRequests = &want.Notifications, new(want.Requests())
	}
	d.record.Record(r)
}
