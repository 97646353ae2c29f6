package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

// drain runs the phase's rounds. In each, one client acquires, all others join the
// line behind it, and then the line drains: each holds a little and leaves without
// re-entering. Nothing else happens, so what is counted on the wire between the
// first release and the last is what hand-offs cost.
func (t *trial) drain(ctx context.Context) error {
	quiet, err := t.gather(ctx) // before anybody stands in line
	if err != nil {
		return err
	}
	for t.round = 1; t.round <= t.phase.Rounds; t.round++ {
		d := &drain{trial: t, quiet: quiet, began: t.clock.Now(), granted: make(chan granted, len(t.clients))}
		if err := d.run(ctx); err != nil {
			return fmt.Errorf("round %d: %w", t.round, err)
		}
		if t.seat != nil && t.round < t.phase.Rounds {
			if err := t.seat.yield(ctx); err != nil {
				return err
			}
			if quiet, err = t.gather(ctx); err != nil { // the others may have left a watch
				return err
			}
		}
	}
	return nil
}

// granted is what a waiter tells when its acquire returns.
type granted struct {
	c     *client
	claim recipes.Claim
	err   error
	at    time.Duration // when, on the run's clock; a drain does not note it
}

// drain is one round.
type drain struct {
	*trial
	granted chan granted
	waiters sync.WaitGroup
	quiet   counts // before anybody stood in line
	base    counts // before the first release
	began   time.Duration
	short   bool // fewer wake-ups than the formula says: waiting for them is no use
}

func (d *drain) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer d.waiters.Wait()
	defer cancel()
	first := d.clients[d.round%len(d.clients)]
	claim, err := first.acquireFirst(ctx)
	if err != nil {
		return fmt.Errorf("client %d: %w", first.n, err)
	}
	for _, c := range d.clients {
		if c != first {
			d.waiters.Go(func() {
				claim, err := c.acquire(ctx)
				d.granted <- granted{c: c, claim: claim, err: err}
			})
		}
	}
	if err := d.joined(ctx); err != nil {
		return err
	}
	if d.base, err = d.gather(ctx); err != nil {
		return err
	}
	return d.empty(ctx, granted{c: first, claim: claim})
}

// empty lets the line drain, beginning with the one who holds, and records what
// that cost.
func (d *drain) empty(ctx context.Context, holder granted) error {
	n := len(d.clients)
	for k := 1; ; k++ {
		d.tell(fmt.Sprintf("round %d of %d, %d of %d", d.round, d.phase.Rounds, k, n), "")
		if err := d.keep(ctx, holder, k-1); err != nil {
			return err
		}
		if err := holder.c.release(ctx, holder.claim); err != nil {
			return fmt.Errorf("client %d: %w", holder.c.n, err)
		}
		if k == n {
			break
		}
		var err error
		if holder, err = d.next(ctx); err != nil {
			return err
		}
	}
	if err := d.settle(ctx, n); err != nil {
		return err
	}
	return d.account(ctx, n)
}

// keep is the time in which a client holds: it writes to the resource, holds for
// the phase's time, and goes on holding until the wake-ups of the k hand-offs so far
// have arrived. One-shot watches coalesce when two releases come close together;
// then the count would say something about the machine, not about the recipe.
func (d *drain) keep(ctx context.Context, holder granted, k int) error {
	until := time.After(d.phase.Hold)
	holder.c.write(ctx, holder.claim)
	select {
	case <-until:
	case <-ctx.Done():
		return ctx.Err()
	}
	return d.settle(ctx, k)
}

// next returns the client to which the line has passed the grant.
func (d *drain) next(ctx context.Context) (granted, error) {
	limit := d.scenario.SessionTimeout + settleLimit
	select {
	case g := <-d.granted:
		if g.err != nil {
			return g, fmt.Errorf("client %d: %w", g.c.n, g.err)
		}
		return g, nil
	case <-ctx.Done():
		return granted{}, ctx.Err()
	case <-time.After(limit):
		_, _ = d.look(ctx, stuckLook) // for the verdicts
		return granted{}, fmt.Errorf("%w within %v of a release", errNoGrant, limit)
	}
}

var errNoGrant = errors.New("nobody was granted")

// settle returns when what the formula promises for the first k hand-offs has been
// seen on the wire and no request is under way; without a formula, at once.
func (d *drain) settle(ctx context.Context, k int) error {
	formula := d.cell.Subject.Formulas.Drain
	if formula == nil || d.short || k == 0 {
		return nil
	}
	want := formula(len(d.clients), k)
	err := poll(ctx, settleLimit, func(context.Context) (bool, error) {
		got := d.tap.Totals().Sub(d.base.wire)
		return got.Notifications.Total() >= want.Notifications &&
			lists(got) >= want.Lists && d.tap.Totals().InFlight == 0, nil
	})
	if errors.Is(err, errPollLimit) {
		d.short = true
		return nil
	}
	return err
}

// account records what the round cost, by the wire and by the members' own counters,
// beside what the formula says.
func (d *drain) account(ctx context.Context, n int) error {
	now, err := d.gather(ctx)
	if err != nil {
		return err
	}
	r := d.traffic(history.OfHandoff, n-1, d.round, d.base, now)
	if formula := d.cell.Subject.Formulas.Drain; formula != nil {
		want := formula(n, n)
		r.ExpectedNotifications = &want.Notifications
		r.ExpectedRequests = new(want.Requests() + d.confirmations(now.wire.Sub(d.base.wire)))
	}
	d.record.Record(r)
	return nil
}

// traffic is what passed on the wire between two counts, in which something was done n times.
func (t *trial) traffic(of string, n, round int, base, now counts) *history.Traffic {
	w := now.wire.Sub(base.wire)
	r := &history.Traffic{
		At: t.clock.Now(), Phase: t.phase.Name, Round: round, Of: of, Count: int64(n),
		Notifications: w.Notifications.Total(), Requests: w.Requests.Total(), Lists: lists(w), Bytes: w.BytesIn + w.BytesOut,
	}
	if now.fired >= 0 && base.fired >= 0 {
		r.ServerNotifications = new(now.fired - base.fired)
	}
	return r
}

// confirmations returns the requests of waiters that made sure of their session: a
// write that changes nothing and a list each (see recipes.Formulas). Nobody does that
// has waited for less than a session timeout.
func (d *drain) confirmations(w wire.Counts) int64 {
	if d.clock.Now()-d.began < d.scenario.SessionTimeout {
		return 0
	}
	return 2 * min(w.Errors.Of(wire.Delete), int64(len(d.clients)))
}

// lists counts requests for children.
func lists(c wire.Counts) int64 {
	return c.Requests.Of(wire.GetChildren) + c.Requests.Of(wire.GetChildren2)
}
