package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// deliver is the drain of a queue: all clients are idle consumers; a producer puts an item, and the
// next only when all are idle again. A round has as many items as consumers. Nothing else happens,
// so the traffic of a round is the cost of its deliveries.
func deliver(ctx context.Context, st *stage) error {
	if err := st.openProducers(ctx, 1); err != nil {
		return err
	}
	quiet, err := st.newQuietWait(ctx, st.cell.Subject.Formulas.Deliver != nil)
	if err != nil {
		return err
	}
	d := &delivery{quietWait: quiet, taken: make(chan string, len(st.clients))}
	if err := d.run(ctx); err != nil {
		return err
	}
	st.closeProducers()
	return st.renew(ctx)
}

type delivery struct {
	*quietWait
	taken chan string // IDs of items in the order of taking
}

func (d *delivery) run(ctx context.Context) error {
	ctx, stop := d.st.consumerContext(ctx)
	var consumers sync.WaitGroup
	defer consumers.Wait()
	defer stop()
	for _, c := range d.st.clients {
		consumers.Go(func() {
			c.consume(ctx, func(id string) {
				select {
				case d.taken <- id:
				case <-ctx.Done():
				}
			})
		})
	}
	base, err := d.wait(ctx, d.quiet.wire, 0, int64(len(d.st.clients)))
	if err != nil {
		return err
	}
	for round := 1; round <= d.st.phase.Rounds; round++ {
		if base, err = d.deal(ctx, round, base); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	// All consumers are idle: wait only until every member shows the queue empty.
	return d.st.waitQueueEmpty(ctx, d.st.patience())
}

// deal is a round: it delivers an item to each consumer and records the cost. It returns the counts
// at its end.
func (d *delivery) deal(ctx context.Context, round int, base counts) (now counts, err error) {
	st := d.st
	formula, n := st.cell.Subject.Formulas.Deliver, len(st.clients)
	for k := 1; k <= n; k++ {
		st.report("round %d of %d, %d of %d", round, st.phase.Rounds, k, n)
		id, err := st.producers[0].putNext(ctx)
		if err != nil {
			return now, fmt.Errorf("put item %s: %w", id, err)
		}
		if err := d.arrived(ctx, id); err != nil {
			return now, err
		}
		var expected int64
		if formula != nil {
			expected = formula(n, k).Notifications
		}
		if now, err = d.wait(ctx, base.wire, expected, int64(n)); err != nil {
			return now, err
		}
	}
	r := st.traffic(history.OfHandoff, n, round, base, now) // a delivery counts as a hand-off
	if formula != nil {
		want := formula(n, n)
		r.ExpectedNotifications, r.ExpectedRequests = &want.Notifications, new(want.Requests())
	}
	st.record.Record(r)
	return now, nil
}

func (d *delivery) arrived(ctx context.Context, id string) error {
	limit := time.After(d.st.patience())
	for {
		select {
		case got := <-d.taken:
			if got == id {
				return nil
			}
		case <-limit:
			if err := d.st.snapshotStuck(ctx); err != nil {
				return err
			}
			return fmt.Errorf("item %s was not taken within %v", id, d.st.patience())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
