package phases

import (
	"context"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// Limits on the load that one process can generate and evaluate.
const (
	maxProducers = 1000
	maxRate      = 100_000
	maxArrivals  = 1_000_000 // per phase
	maxSteps     = 1000
)

func init() {
	stage.AddKind(spec.Kind{
		Name:        "stream",
		About:       "an open loop: acquires, or a queue's items, are scheduled at a rate, while faults are active",
		Pace:        history.ByRate,
		Paths:       true,
		Fields:      []string{"duration", "faults", "rate", "rate_to", "steps", "arrivals", "producers", "size"},
		Enums:       map[string][]string{"arrivals": {spec.Constant, spec.Poisson}},
		ExtraPacket: 512 << 10,
		Validate:    validateStream,
		CheckSubject: func(p *spec.Phase, s recipes.Subject, bad spec.ProblemFunc) {
			switch queue := s.Recipe == recipes.RecipeQueue; {
			case queue:
				spec.Between(bad, "producers", p.Producers, 1, maxProducers)
			case p.Producers != 0:
				bad("producers", "%s is not a queue, so it does not have producers: its clients acquire at the scheduled times", s.Name)
			}
		},
	}, func(ctx context.Context, st *stage.Stage) error {
		if st.IsQueue() {
			return streamItems(ctx, st)
		}
		return stream(ctx, st)
	})
}

func validateStream(p *spec.Phase, bad spec.ProblemFunc) {
	p.CheckDuration(bad)
	if !(p.Rate > 0 && p.Rate <= maxRate) {
		bad("rate", "%v per second: want more than 0 and at most %d", p.Rate, maxRate)
		return
	}
	if p.Arrivals != "" && p.Arrivals != spec.Constant && p.Arrivals != spec.Poisson {
		bad("arrivals", "%q is neither %s nor %s", p.Arrivals, spec.Constant, spec.Poisson)
	}
	most := p.Rate
	switch ramp := p.RateTo != 0; {
	case ramp && !(p.RateTo > p.Rate && p.RateTo <= maxRate):
		bad("rate_to", "%v per second: want more than rate (%v) and at most %d", p.RateTo, p.Rate, maxRate)
		return
	case ramp:
		most = (p.Rate + p.RateTo) / 2
		if len(p.Faults) > 0 {
			bad("faults", "a ramp cannot have faults: it finds the rate that the subject sustains without them")
		}
		if p.Steps != 0 {
			spec.Between(bad, "steps", p.Steps, 2, maxSteps)
		}
	case p.Steps != 0:
		bad("steps", "requires rate_to: without it, the rate is constant")
	}
	if n := most * p.Duration.Seconds(); n > maxArrivals {
		bad("rate", "about %.0f operations would be due in %v; the limit is %d", n, p.Duration, maxArrivals)
	}
}

// stream is an open loop: acquires are due at a rate, whether or not the subject keeps up. A free
// client makes each call; without a free client, calls wait in order of arrival. Latency counts from
// the time at which an acquire was due, so that calls which were made late do not hide a stall.
func stream(ctx context.Context, st *stage.Stage) error {
	phase, over, end := st.Timed(ctx)
	defer end()
	due, stop := st.OpenArrivals(ctx, history.Acquire, over, holdDue)
	defer stop()
	wait := stage.Start(st.Clients, func(c *stage.Client) { c.ServeArrivals(ctx, due) })
	st.PlayFaults(phase)
	st.Report("serving the scheduled operations")
	wait()
	return st.SnapshotAfterLoad(ctx)
}

func holdDue(ctx context.Context, c *stage.Client, due time.Duration) error {
	claim, err := c.AcquireDue(ctx, due, c.Stage.Clock.Now())
	if err != nil {
		return err
	}
	c.Hold(ctx, claim)
	return c.Release(ctx, claim)
}

// streamItems is the stream of a queue: items are due at a rate; a free producer puts each item, and the
// clients take them. Latency counts from the due time until the item is taken.
func streamItems(ctx context.Context, st *stage.Stage) error {
	if err := openProducers(ctx, st, st.Phase.Producers); err != nil {
		return err
	}
	base, before := st.Tap.Totals(), st.Grants.Load()
	err := runStream(ctx, st)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	st.Record.Record(st.Traffic(history.OfItem, int(st.Grants.Load()-before), 0,
		stage.Counts{Wire: base, Fired: -1}, stage.Counts{Wire: st.Tap.Totals(), Fired: -1}))
	closeProducers(st)
	if err != nil {
		return err
	}
	return st.Renew(ctx)
}

// runStream runs producers and consumers until the phase is over, all items are put, and the queue is empty.
func runStream(ctx context.Context, st *stage.Stage) error {
	phase, over, off := st.Timed(ctx)
	defer off()
	defer startConsumers(ctx, st, func(taking context.Context, c *stage.Client) { c.ConsumeSlowly(taking) })()
	due, end := st.OpenArrivals(ctx, history.Put, over, putDue)
	defer end()
	wait := stage.Start(st.Producers, func(p *stage.Client) { p.ServeArrivals(ctx, due) })
	st.PlayFaults(phase)
	wait()
	return st.WaitQueueEmpty(ctx, st.GrantTimeout())
}

func putDue(ctx context.Context, c *stage.Client, due time.Duration) error {
	return c.Put(ctx, c.Stage.ItemID(c.Number), due)
}

// openProducers opens producers until there are n. Their numbers follow the clients' numbers.
func openProducers(ctx context.Context, st *stage.Stage, n int) error {
	from := len(st.Producers)
	for i := from; i < n; i++ {
		st.Producers = append(st.Producers, stage.NewClient(st, st.Cell.Clients+i))
	}
	return stage.Each(st.Producers[from:], stage.OpensAtOnce, func(c *stage.Client) error { return c.Open(ctx) })
}

func closeProducers(st *stage.Stage) {
	for _, p := range st.Producers {
		p.Close()
	}
	st.Producers = nil
}

// startConsumers calls f for each client in a goroutine. end ends these calls and waits for them.
func startConsumers(ctx context.Context, st *stage.Stage, f func(context.Context, *stage.Client)) (end func()) {
	taking, cancel := context.WithCancel(ctx)
	wait := stage.Start(st.Clients, func(c *stage.Client) { f(taking, c) })
	return func() { st.RecordPending(); cancel(); wait() }
}
