package scenarios

import (
	"context"
	"sync"
	"time"

	"github.com/zkbench/zkbench/report/history"
)

// What one process can put in time.
const (
	maxProducers = 1000
	maxRate      = 100_000
)

func init() {
	addKind(kind{
		name:   "stream",
		about:  "a queue's items are due at a rate, an open loop, while faults are in force",
		pace:   history.ByRate,
		needs:  needsItems,
		fields: []string{"duration", "faults", "producers", "rate", "size"},
		room:   512 << 10, // for the items that wait when producers are faster than consumers: some 40 bytes a name
		validate: func(p *Phase, bad problemFunc) {
			p.duration(bad)
			between(bad, "producers", p.Producers, 1, maxProducers)
			if !(p.Rate > 0 && p.Rate <= maxRate) { // NaN is neither
				bad("rate", "%v items a second is not above 0 and up to %d", p.Rate, maxRate)
			}
		},
		effort: timedEffort,
		run:    stream,
	})
}

// stream is an open loop: items are due at a fixed rate, whether or not the queue
// keeps up; producers take turns to put them, consumers take them. Latency counts from
// due, so that a stall cannot hide behind the items that were not put because of it.
func stream(ctx context.Context, st *stage) error {
	if err := st.hire(ctx, st.phase.Producers); err != nil {
		return err
	}
	base, before, start := st.tap.Totals(), st.grants.Load(), st.clock.Now()
	err := flow(ctx, st, start)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	st.record.Record(st.traffic(history.OfItem, int(st.grants.Load()-before), 0,
		counts{wire: base, fired: -1}, counts{wire: st.tap.Totals(), fired: -1}))
	st.dismiss()
	if err != nil {
		return err
	}
	return st.renew(ctx)
}

// flow runs producers and consumers until the phase is over, all items are put, and
// the queue is empty again.
func flow(ctx context.Context, st *stage, start time.Duration) error {
	phase, cancel := context.WithTimeout(ctx, st.phase.Duration)
	defer cancel()
	taking, stop := context.WithCancel(ctx)
	var producers, consumers sync.WaitGroup
	defer consumers.Wait()
	defer stop()
	for _, c := range st.clients {
		consumers.Go(func() { c.consumeSlowly(taking) })
	}
	for i, p := range st.producers {
		producers.Go(func() { p.produce(ctx, start, i) })
	}
	st.during(phase)
	producers.Wait()
	return st.emptied(ctx, st.patience())
}

// produce puts every item that is due in the phase and that it is producer i's turn
// to put. A producer that is behind goes on after the phase, for as long again; what
// it cannot put by then is recorded as failed, for nobody will wait for it.
func (c *client) produce(ctx context.Context, start time.Duration, i int) {
	p := c.st.phase
	for k := i; ; k += p.Producers {
		due := start + time.Duration(float64(k)/p.Rate*float64(time.Second))
		if due-start >= p.Duration {
			return
		}
		id := c.st.itemID(c.n)
		if pause(ctx, due-c.st.clock.Now()) != nil {
			return // perhaps without a session
		}
		if now := c.st.clock.Now(); now-start > 2*p.Duration {
			c.st.record.Sample(history.Sample{Client: c.n, Phase: p.Name, Op: history.Put, Due: due, Call: now, Return: now,
				Outcome: history.Failed, Item: id, Err: "not put: the producers are behind by more than the phase's duration"})
			continue
		}
		if err := c.put(ctx, id, due); err != nil {
			c.mend(ctx, err)
		}
	}
}
