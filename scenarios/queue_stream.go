package scenarios

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// stream is an open loop: items are due at a fixed rate, whether or not the queue
// keeps up; producers take turns to put them, consumers take them, the phase's faults
// strike. Latency counts from due, so that a stall cannot hide behind the items that
// were not put because of it.
func (t *trial) stream(ctx context.Context) error {
	if err := t.hire(ctx, t.phase.Producers); err != nil {
		return err
	}
	base, before, start := t.tap.Totals(), t.grants.Load(), t.clock.Now()
	err := t.flow(ctx, start)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	uncounted := counts{fired: -1}
	uncounted.wire = t.tap.Totals()
	t.record.Record(t.traffic(history.OfItem, int(t.grants.Load()-before), 0, counts{wire: base, fired: -1}, uncounted))
	t.dismiss()
	if err != nil {
		return err
	}
	return t.renew(ctx)
}

// flow runs producers and consumers until the phase is over, all items are put, and
// the queue is empty again.
func (t *trial) flow(ctx context.Context, start time.Duration) error {
	phase, cancel := context.WithTimeout(ctx, t.phase.Duration)
	defer cancel()
	taking, stop := context.WithCancel(ctx)
	var producers, consumers sync.WaitGroup
	defer consumers.Wait()
	defer stop()
	for _, c := range t.clients {
		consumers.Go(func() { c.consume(taking) })
	}
	for i, p := range t.producers {
		producers.Go(func() { p.produce(ctx, start, i) })
	}
	ticked := t.tick(phase)
	struck := t.strike(phase)
	<-phase.Done()
	ticked()
	producers.Wait()
	return errors.Join(t.emptied(ctx), struck)
}

// produce puts every item that is due in the phase and that it is producer i's turn
// to put. A producer that is behind goes on after the phase, for as long again; what
// it cannot put by then is recorded as failed, for nobody will wait for it.
func (c *client) produce(ctx context.Context, start time.Duration, i int) {
	p := c.t.phase
	for k := i; ; k += p.Producers {
		due := start + time.Duration(float64(k)/p.Rate*float64(time.Second))
		if due-start >= p.Duration {
			return
		}
		id := c.t.itemID(c.n)
		select {
		case <-time.After(due - c.t.clock.Now()):
		case <-ctx.Done():
			return
		}
		if ctx.Err() != nil {
			return // perhaps without a session
		}
		if now := c.t.clock.Now(); now-start > 2*p.Duration {
			c.t.record.Sample(history.Sample{Client: c.n, Phase: p.Name, Op: history.Put, Due: due, Call: now, Return: now,
				Outcome: history.Failed, Item: id, Err: "not put: the producers are behind by more than the phase's duration"})
			continue
		}
		if err := c.put(ctx, id, due); err != nil {
			c.mend(ctx, err)
		}
	}
}
