package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

func init() {
	addKind(kind{
		name:     history.DrainPhase,
		about:    "all join, then the line drains; hand-offs are counted",
		pace:     history.ByHarness,
		fields:   []string{"rounds", "size"},
		validate: (*Phase).rounds,
		effort:   drainEffort,
		run: func(ctx context.Context, st *stage) error {
			if st.queue() {
				return deliver(ctx, st)
			}
			return drain(ctx, st)
		},
	})
}

// drain runs the phase's rounds. In each, one client acquires, all others join the
// line behind it, and then the line drains: each holds a little and leaves without
// re-entering. Nothing else happens, so what is counted on the wire between the
// first release and the last is what hand-offs cost.
func drain(ctx context.Context, st *stage) error {
	for st.round = 1; st.round <= st.phase.Rounds; st.round++ {
		if st.round > 1 {
			if err := st.yield(ctx); err != nil {
				return err
			}
		}
		if err := drainOnce(ctx, st); err != nil {
			return fmt.Errorf("round %d: %w", st.round, err)
		}
	}
	return nil
}

// drained is one round.
type drained struct {
	*settler
	line  *line
	began time.Duration
	base  counts // before the first release
	short bool   // fewer wake-ups than the formula says: waiting for them is no use
}

// drainOnce is one round, and leaves the line empty.
func drainOnce(ctx context.Context, st *stage) error {
	settler, err := st.newSettler(ctx, st.cell.Subject.Formulas.Drain != nil) // anew each round: other trials may have left a watch
	if err != nil {
		return err
	}
	d := &drained{settler: settler, line: st.newLine(ctx), began: st.clock.Now()}
	defer d.line.leave()
	n := len(st.clients)
	holder, err := st.clients[st.round%n].first(ctx)
	if err != nil {
		return err
	}
	d.line.join(holder.c, false)
	if err := st.inLine(ctx, n, joinLimit); err != nil {
		return err
	}
	if d.base, err = d.wait(ctx, d.quiet.wire, 0, int64(n-1)); err != nil {
		return err
	}
	return d.empty(ctx, holder)
}

// empty lets the line drain, beginning with the one who holds, and records what
// that cost.
func (d *drained) empty(ctx context.Context, holder *attempt) error {
	n := len(d.st.clients)
	for k := 1; ; k++ {
		d.st.report("round %d of %d, %d of %d", d.st.round, d.st.phase.Rounds, k, n)
		if err := d.keep(ctx, holder, k-1); err != nil {
			return err
		}
		if err := holder.release(ctx); err != nil {
			return err
		}
		if k == n {
			break
		}
		var err error
		if holder, err = d.line.next(ctx); err != nil {
			return err
		}
	}
	if err := d.woken(ctx, n); err != nil {
		return err
	}
	return d.account(ctx, n)
}

// keep is the time in which a client holds: it writes to the resource, holds for
// the phase's time, and goes on holding until the wake-ups of the k hand-offs so far
// have arrived. One-shot watches coalesce when two releases come close together;
// then the count would say something about the machine, not about the recipe.
func (d *drained) keep(ctx context.Context, holder *attempt, k int) error {
	until := time.Now().Add(d.st.phase.Hold)
	holder.write(ctx)
	if err := pause(ctx, time.Until(until)); err != nil {
		return err
	}
	return d.woken(ctx, k)
}

// woken returns when what the formula promises for the first k hand-offs has been
// seen on the wire and no request is under way; without a formula, at once.
func (d *drained) woken(ctx context.Context, k int) error {
	formula := d.st.cell.Subject.Formulas.Drain
	if formula == nil || d.short || k == 0 {
		return nil
	}
	want := formula(len(d.st.clients), k)
	err := poll(ctx, settleLimit, func(context.Context) (bool, error) {
		now := d.st.tap.Totals()
		got := now.Sub(d.base.wire)
		return got.Notifications.Total() >= want.Notifications && lists(got) >= want.Lists && now.InFlight == 0, nil
	})
	if errors.Is(err, errPollLimit) {
		d.short = true
		return nil
	}
	return err
}

// account records what the round cost, by the wire and by the members' own counters,
// beside what the formula says.
func (d *drained) account(ctx context.Context, n int) error {
	now, err := d.st.count(ctx)
	if err != nil {
		return err
	}
	r := d.st.traffic(history.OfHandoff, n-1, d.st.round, d.base, now)
	if formula := d.st.cell.Subject.Formulas.Drain; formula != nil {
		want := formula(n, n)
		r.ExpectedNotifications = &want.Notifications
		r.ExpectedRequests = new(want.Requests() + d.confirmations(now.wire.Sub(d.base.wire)))
	}
	d.st.record.Record(r)
	return nil
}

// confirmations returns the requests of waiters that made sure of their session: a
// write that changes nothing and a read each. Nobody does that
// has waited for less than a session timeout.
func (d *drained) confirmations(w wire.Counts) int64 {
	if d.st.clock.Now()-d.began < d.st.scenario.SessionTimeout {
		return 0
	}
	return 2 * min(w.Errors.Of(wire.Delete), int64(len(d.st.clients)))
}
