package scenarios

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// streamItems is the stream of a queue: items are due at a rate; a free producer puts the next, and
// the clients take them. Latency counts from the due time until an item is taken.
func streamItems(ctx context.Context, st *stage) error {
	if err := st.openProducers(ctx, st.phase.Producers); err != nil {
		return err
	}
	base, before := st.tap.Totals(), st.grants.Load()
	err := flow(ctx, st)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	st.record.Record(st.traffic(history.OfItem, int(st.grants.Load()-before), 0,
		counts{wire: base, fired: -1}, counts{wire: st.tap.Totals(), fired: -1}))
	st.closeProducers()
	if err != nil {
		return err
	}
	return st.renew(ctx)
}

// flow runs producers and consumers until the phase is over, all items are put, and the queue is
// empty.
func flow(ctx context.Context, st *stage) error {
	phase, over, off := st.timed(ctx)
	defer off()
	taking, stop := st.consumerContext(ctx)
	var producers, consumers sync.WaitGroup
	defer consumers.Wait()
	defer stop()
	for _, c := range st.clients {
		consumers.Go(func() { c.consumeSlowly(taking) })
	}
	due, end := st.open(ctx, history.Put, over, putDue)
	defer end()
	for _, p := range st.producers {
		producers.Go(func() { p.attend(ctx, due) })
	}
	st.playFaults(phase)
	producers.Wait()
	return st.waitQueueEmpty(ctx, st.patience())
}

func putDue(ctx context.Context, c *client, due time.Duration) error {
	return c.put(ctx, c.st.itemID(c.n), due)
}
