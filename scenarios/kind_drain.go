package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

func init() {
	addKind(spec.Kind{
		Name:     history.DrainPhase,
		About:    "all join, then the line drains; hand-offs are counted",
		Pace:     history.ByHarness,
		Meets:    true,
		Fields:   []string{"rounds", "size"},
		Validate: (*spec.Phase).CheckRounds,
	}, func(ctx context.Context, st *stage) error {
		if st.queue() {
			return deliver(ctx, st)
		}
		return drain(ctx, st)
	})
}

// drain runs the phase's rounds. In each, one client acquires, all others join the queue behind it,
// and then the queue drains: each client holds and releases once. Nothing else happens, so the
// traffic between the first release and the last is the cost of the hand-offs.
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

type drained struct {
	*quietWait
	line  *line
	began time.Duration
	base  counts // before the first release
	short bool   // fewer notifications than the formula: do not wait for them again
}

func drainOnce(ctx context.Context, st *stage) error {
	if st.barrier() {
		return gatherOnce(ctx, st)
	}
	st.counting.Store(true)
	defer st.counting.Store(false)
	quiet, err := st.newQuietWait(ctx, st.cell.Subject.Formulas.Drain != nil) // new for each round: other trials may have left a watch
	if err != nil {
		return err
	}
	d := &drained{quietWait: quiet, line: st.newLine(ctx), began: st.clock.Now()}
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
	if d.base, err = d.wait(ctx, d.quiet.wire, 0, int64(n-st.holders())); err != nil {
		return err
	}
	return d.empty(ctx, holder)
}

// empty drains the queue, beginning with the holder, and records the cost.
func (d *drained) empty(ctx context.Context, holder *attempt) error {
	n := len(d.st.clients)
	var released []*client
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
		next, err := d.line.next(ctx)
		if err != nil {
			return err
		}
		released = append(released, holder.c)
		if i := k - d.st.holders(); i >= 0 { // the release that let the next one in
			d.recordStages(released[i], next.c)
		}
		holder = next
	}
	if err := d.woken(ctx, n); err != nil {
		return err
	}
	return d.account(ctx, n)
}

// recordStages records the stages of a hand-off.
func (d *drained) recordStages(from, to *client) {
	was, is := from.wire.Moments(), to.wire.Moments()
	released, granted := time.Duration(from.releasedAt.Load()), time.Duration(to.grantedAt.Load())
	if was.Changed < released || is.Notified < was.Changed || granted < is.Notified {
		return // the messages are others: it was granted without one, or notified again
	}
	h := &history.Handoff{Phase: d.st.phase.Name, Round: d.st.round, From: from.n, To: to.n,
		Released: released, Sent: was.Changed, Applied: min(was.Applied, is.Notified), Notified: is.Notified, Granted: granted}
	h.Asked, h.Answered = h.Notified, h.Notified
	if is.Asked > 0 && is.Asked <= granted {
		h.Asked, h.Answered = is.Asked, min(max(is.Answered, is.Asked), granted)
	}
	d.st.record.Record(h)
}

// keep is the time during which a client holds: it writes to the resource, waits for the phase's
// hold time, and then until the notifications of the k hand-offs so far have arrived. One-shot
// watches coalesce if two releases follow each other closely; the count would then depend on the
// machine.
func (d *drained) keep(ctx context.Context, holder *attempt, k int) error {
	until := time.Now().Add(d.st.phase.Hold)
	holder.write(ctx)
	if err := pause(ctx, time.Until(until)); err != nil {
		return err
	}
	return d.woken(ctx, k)
}

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

// account records the cost of the round, by the wire and by the members' own counters, with the
// formula's value.
func (d *drained) account(ctx context.Context, n int) error {
	now, err := d.st.count(ctx)
	if err != nil {
		return err
	}
	return d.record(n, now)
}

func (d *drained) record(n int, now counts) error {
	handoffs := n - d.st.holders()
	if d.st.barrier() {
		handoffs = n // passages
	}
	r := d.st.traffic(history.OfHandoff, handoffs, d.st.round, d.base, now)
	if formula := d.st.cell.Subject.Formulas.Drain; formula != nil {
		want := formula(n, n)
		r.ExpectedNotifications = &want.Notifications
		r.ExpectedRequests = new(want.Requests() + d.confirmations(now.wire.Sub(d.base.wire)))
	}
	d.st.record.Record(r)
	return nil
}

// confirmations returns the requests of waiters that confirmed their session: a write that changes
// nothing and a read each. A client does that only after it has waited for a session timeout.
func (d *drained) confirmations(w wire.Counts) int64 {
	if d.st.clock.Now()-d.began < d.st.scenario.SessionTimeout {
		return 0
	}
	return 2 * min(w.Errors.Of(wire.Delete), int64(len(d.st.clients)))
}

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

func init() {
	addKind(spec.Kind{
		Name:     history.FlapPhase,
		About:    "one waiter loses its session and rejoins; the requests and notifications of the other clients are counted",
		Pace:     history.ByHarness,
		Fields:   []string{"rounds", "size"},
		Validate: (*spec.Phase).CheckRounds,
		TooFew: func(p *spec.Phase, clients int) string {
			if clients < 2 {
				return fmt.Sprintf("%d leaves no waiter while it flaps", clients)
			}
			return ""
		},
	}, flap)
}

// flap makes a waiter in the middle of the queue lose its session and return, repeatedly, while the
// others only wait: the traffic is the cost that it causes for them.
func flap(ctx context.Context, st *stage) error {
	quiet, err := st.newQuietWait(ctx, st.cell.Subject.Formulas.Flap != nil)
	if err != nil {
		return err
	}
	f := &flaps{quietWait: quiet}
	if st.queue() {
		err = f.runQueue(ctx)
	} else {
		err = f.run(ctx)
	}
	if err != nil {
		return err
	}
	// The next phase starts without these nodes.
	if err := st.renew(ctx); err != nil || st.queue() {
		return err
	}
	// Another grant must not be blocked either; one grant has no order to evaluate.
	return f.hold(ctx, st.clients[1:2], func() error { return nil })
}

type flaps struct {
	*quietWait
	line []*attempt
}

func (f *flaps) run(ctx context.Context) error {
	n := f.st.holders()
	if n == len(f.st.clients) {
		return fmt.Errorf("%d clients and as many permits leave no waiter while it flaps: use more clients or fewer permits", n)
	}
	return f.hold(ctx, f.st.clients[:n], func() error {
		return f.wave(ctx, f.st.clients[n:], func(context.Context) error { return nil })
	})
}

// hold has clients acquire and release, and calls the function in between.
func (f *flaps) hold(ctx context.Context, clients []*client, between func() error) error {
	if len(clients) == 0 {
		return between()
	}
	holder, err := clients[0].first(ctx)
	if err != nil {
		return err
	}
	err = f.hold(ctx, clients[1:], between)
	holder.write(ctx)
	return errors.Join(err, holder.release(ctx))
}

// runQueue flaps at an empty queue. Afterwards two items are put for the waiters, one after the
// other. Whether they arrive is for the verdicts to decide.
func (f *flaps) runQueue(ctx context.Context) error {
	if err := f.st.openProducers(ctx, 1); err != nil {
		return err
	}
	defer f.st.closeProducers()
	return f.wave(ctx, f.st.clients, func(ctx context.Context) error {
		for range 2 {
			if _, err := f.st.producers[0].putNext(ctx); err != nil {
				return err
			}
		}
		return f.st.waitQueueEmpty(ctx, f.st.patience())
	})
}

// wave lets the clients wait, flaps, and calls last before they give up.
func (f *flaps) wave(ctx context.Context, waiters []*client, last func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		f.st.waiting()
		cancel()
		for _, a := range f.line {
			<-a.done
		}
	}()
	for _, c := range waiters {
		if err := f.join(ctx, c); err != nil {
			return err
		}
	}
	if _, err := f.wait(ctx, f.quiet.wire, 0, int64(len(f.line))); err != nil {
		return err
	}
	for k := 1; k <= f.st.phase.Rounds; k++ {
		f.st.report("flap %d of %d", k, f.st.phase.Rounds)
		if err := f.once(ctx, k); err != nil {
			return fmt.Errorf("flap %d: %w", k, err)
		}
	}
	return last(ctx)
}

func (f *flaps) join(ctx context.Context, c *client) error {
	f.line = append(f.line, c.begin(ctx))
	return f.stand(ctx)
}

// stand waits until every member shows the nodes of all waiters: the flapping client is chosen by
// its position.
func (f *flaps) stand(ctx context.Context) error {
	switch {
	case !f.st.queue():
		return f.st.standing(ctx, f.st.parent, len(f.line)+f.st.holders(), joinLimit)
	case f.st.cell.Subject.Line != "":
		return f.st.standing(ctx, f.st.parent+"/"+f.st.cell.Subject.Line, len(f.line), joinLimit)
	}
	return nil
}

var errGranted = errors.New("a waiter was granted although no client had released")

// once is the k-th flap: the waiter in the middle leaves and joins again at the end.
func (f *flaps) once(ctx context.Context, k int) error {
	formula := f.st.cell.Subject.Formulas.Flap
	i := (len(f.line) - 1) / 2
	a, behind := f.line[i], len(f.line)-1-i
	var leave, back int64
	if formula != nil {
		leave, back = formula(len(f.st.clients), behind)
	}
	base, err := f.st.count(ctx)
	if err != nil {
		return err
	}
	a.c.close()
	select {
	case <-a.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	f.line = append(f.line[:i:i], f.line[i+1:]...)
	if a.err == nil {
		return fmt.Errorf("client %d: %w", a.c.n, errGranted)
	}
	if err := f.stand(ctx); err != nil {
		return err
	}
	if _, err := f.wait(ctx, base.wire, leave, int64(len(f.line))); err != nil {
		return err
	}
	if err := a.c.open(ctx); err != nil {
		return err
	}
	if err := f.join(ctx, a.c); err != nil {
		return err
	}
	now, err := f.wait(ctx, base.wire, leave+back, int64(len(f.line)))
	if err != nil {
		return err
	}
	r := f.st.traffic(history.OfFlap, 1, k, base, now)
	if formula != nil {
		r.ExpectedNotifications = new(leave + back)
	}
	f.st.record.Record(r)
	return nil
}
