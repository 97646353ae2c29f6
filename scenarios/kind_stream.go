package scenarios

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// Limits on the load that one process can generate and evaluate.
const (
	maxProducers = 1000
	maxRate      = 100_000
	maxArrivals  = 1_000_000 // per phase
	maxSteps     = 1000
)

// behind is the fraction of a ramp for which a due operation has to wait for a free client before
// the ramp ends: the subject no longer keeps up.
const behind = 0.2

func init() {
	addKind(spec.Kind{
		Name:     "stream",
		About:    "acquires, or a queue's items, are scheduled at a rate, an open loop, while faults are active",
		Pace:     history.ByRate,
		Fields:   []string{"duration", "faults", "rate", "rate_to", "steps", "arrivals", "producers", "size"},
		Words:    map[string][]string{"arrivals": {constant, spec.Poisson}},
		Room:     512 << 10,
		Validate: validateStream,
		Fits: func(p *spec.Phase, s recipes.Subject, bad spec.ProblemFunc) {
			switch queue := s.Recipe == recipes.RecipeQueue; {
			case queue:
				spec.Between(bad, "producers", p.Producers, 1, maxProducers)
			case p.Producers != 0:
				bad("producers", "%s takes no items: its own clients acquire at the scheduled times", s.Name)
			}
		},
	}, func(ctx context.Context, st *stage) error {
		if st.queue() {
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
	if p.Arrivals != "" && p.Arrivals != constant && p.Arrivals != spec.Poisson {
		bad("arrivals", "%q is neither %s nor %s", p.Arrivals, constant, spec.Poisson)
	}
	most := p.Rate
	switch ramp := p.RateTo != 0; {
	case ramp && !(p.RateTo > p.Rate && p.RateTo <= maxRate):
		bad("rate_to", "%v a second is not above rate (%v) and up to %d", p.RateTo, p.Rate, maxRate)
		return
	case ramp:
		most = (p.Rate + p.RateTo) / 2
		if len(p.Faults) > 0 {
			bad("faults", "a ramp has no faults: it finds the rate that the subject sustains without them")
		}
		if p.Steps != 0 {
			spec.Between(bad, "steps", p.Steps, 2, maxSteps)
		}
	case p.Steps != 0:
		bad("steps", "requires rate_to: without it the rate does not rise")
	}
	if n := most * p.Duration.Seconds(); n > maxArrivals {
		bad("rate", "about %.0f operations would be due in %v; the limit is %d", n, p.Duration, maxArrivals)
	}
}

type openLoop struct {
	*arrivals
	op      string
	serving context.Context // ends when no more operations are called
	over    func()          // ends the phase
	do      func(c *client, due time.Duration) error
}

func (st *stage) open(ctx context.Context, op string, over func(), do func(context.Context, *client, time.Duration) error) (l *openLoop, stop func()) {
	serving, stop := context.WithTimeout(ctx, 2*st.phase.Duration)
	l = &openLoop{newArrivals(&st.phase, st.clock.Now(), st.planned.Seed), op, serving, over,
		func(c *client, due time.Duration) error { return do(serving, c, due) }}
	st.record.Record(&l.Arrivals)
	return l, stop
}

// stream is an open loop: acquires are due at a rate, whether or not the subject keeps up. Each is
// called by a free client, or waits for one in order of arrival. Latency counts from the time at
// which an acquire was due, so that a stall is not hidden by acquires that were called late.
func stream(ctx context.Context, st *stage) error {
	phase, over, end := st.timed(ctx)
	defer end()
	due, stop := st.open(ctx, history.Acquire, over, holdDue)
	defer stop()
	var clients sync.WaitGroup
	for _, c := range st.clients {
		clients.Go(func() { c.attend(ctx, due) })
	}
	st.playFaults(phase)
	st.report("serving the scheduled operations")
	clients.Wait()
	return st.snapshotAfterLoad(ctx)
}

func holdDue(ctx context.Context, c *client, due time.Duration) error {
	claim, err := c.acquireDue(ctx, due, c.st.clock.Now())
	if err != nil {
		return err
	}
	c.hold(ctx, claim)
	return c.release(ctx, claim)
}

// attend performs due operations one after the other while the client is free. When the phase is
// over, the rest may take as long again; operations that could not be called by then are recorded
// as failed. A ramp ends early when the subject clearly does not keep up.
func (c *client) attend(ctx context.Context, l *openLoop) {
	for {
		due, ok := l.next()
		if !ok || pause(ctx, due-c.st.clock.Now()) != nil {
			return
		}
		now := c.st.clock.Now()
		if l.Ramp() && now-due > time.Duration(behind*float64(l.For)) {
			l.end(now)
			l.over()
		}
		if l.serving.Err() != nil {
			c.unserved(l.op, due, now)
			continue
		}
		if err := l.do(c, due); err != nil {
			c.recoverAfter(l.serving, err)
			continue
		}
		c.back.succeeded()
	}
}

// unserved records an operation that was due and that no client was free to call.
func (c *client) unserved(op string, due, now time.Duration) {
	s := history.Sample{Client: c.n, Phase: c.st.phase.Name, Op: op, Due: due, Call: now, Return: now, Outcome: history.Failed,
		Err: fmt.Sprintf("not called: no client was free for %v", (now - due).Round(time.Millisecond))}
	if op == history.Put {
		s.Item = c.st.itemID(c.n)
	}
	c.st.record.Sample(s)
}

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
