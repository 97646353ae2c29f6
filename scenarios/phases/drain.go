package phases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

func init() {
	stage.AddKind(spec.Kind{
		Name:     history.DrainPhase,
		About:    "all clients join the line, which then drains; the cost of the hand-offs is counted",
		Pace:     history.ByHarness,
		Barriers: true,
		Fields:   []string{"rounds", "size"},
		Validate: (*spec.Phase).CheckRounds,
	}, func(ctx context.Context, st *stage.Stage) error {
		if st.IsQueue() {
			return deliver(ctx, st)
		}
		return drain(ctx, st)
	})
}

// drain runs the phase's rounds. In each, one client acquires, all others join the line behind it,
// and then the line drains: each client holds and releases once. Nothing else happens, so that the
// traffic between the first release and the last is the cost of the hand-offs.
func drain(ctx context.Context, st *stage.Stage) error {
	for st.Round = 1; st.Round <= st.Phase.Rounds; st.Round++ {
		if st.Round > 1 {
			if err := st.Yield(ctx); err != nil {
				return err
			}
		}
		if err := DrainOnce(ctx, st); err != nil {
			return fmt.Errorf("round %d: %w", st.Round, err)
		}
		if err := st.RenewIfRequeues(ctx); err != nil {
			return err
		}
	}
	return nil
}

type drainRun struct {
	*stage.QuietWait
	line       *stage.WaiterGroup
	began      time.Duration
	base       stage.Counts // counts before the first release
	incomplete bool         // fewer notifications arrived than the formula gives: later hand-offs do not wait for them
}

// DrainOnce fills the line, drains it once, and records the cost.
func DrainOnce(ctx context.Context, st *stage.Stage) error {
	if st.IsBarrier() {
		return passBarrier(ctx, st)
	}
	st.Counting.Store(true)
	defer st.Counting.Store(false)
	quiet, err := stage.NewQuietWait(ctx, st, st.Cell.Subject.Formulas.Drain != nil) // for each round, because other trials may have left a watch
	if err != nil {
		return err
	}
	d := &drainRun{QuietWait: quiet, line: stage.NewWaiterGroup(ctx, st), began: st.Clock.Now()}
	defer d.line.CancelAndWait()
	n := len(st.Clients)
	holder, err := st.Clients[st.Round%n].AcquireUncontended(ctx)
	if err != nil {
		return err
	}
	d.line.StartOthers(holder.Client, false)
	if err := st.AwaitInLine(ctx, n, stage.JoinLimit); err != nil {
		return err
	}
	if d.base, err = d.Wait(ctx, d.Initial.Wire, 0, int64(n-st.Holders())); err != nil {
		return err
	}
	floor, err := st.Observer.MeasureFloor(ctx, floorSamples)
	if err != nil {
		return err
	}
	for _, took := range floor {
		st.Record.Record(&history.Floor{At: st.Clock.Now(), Phase: st.Phase.Name, Took: took})
	}
	return d.drainLine(ctx, holder)
}

// floorSamples is the number of measurements of the floor in each round.
const floorSamples = 10

// drainLine drains the line, beginning with the holder, and records the cost. Of a semaphore, the
// oldest and the youngest holder release in turn, and each release must admit a waiter while the other holders stay.
func (d *drainRun) drainLine(ctx context.Context, first *stage.Attempt) error {
	n := len(d.Stage.Clients)
	holders := []*stage.Attempt{first}
	for len(holders) < d.Stage.Holders() {
		next, err := d.line.Next(ctx)
		if err != nil {
			return err
		}
		holders = append(holders, next)
	}
	for k := 1; len(holders) > 0; k++ {
		d.Stage.Report("round %d of %d, %d of %d", d.Stage.Round, d.Stage.Phase.Rounds, k, n)
		i := 0
		if k%2 == 0 { // of a semaphore: any holder may release first
			i = len(holders) - 1
		}
		holder := holders[i]
		holders = slices.Delete(holders, i, i+1)
		if err := d.hold(ctx, holder, k-1); err != nil {
			return err
		}
		if err := holder.Release(ctx); err != nil {
			return err
		}
		if k+len(holders) == n {
			continue // no client waits any longer
		}
		next, err := d.line.Next(ctx)
		if err != nil {
			return err
		}
		d.recordHandoff(holder.Client, next.Client)
		holders = append(holders, next)
	}
	if err := d.awaitNotifications(ctx, n); err != nil {
		return err
	}
	now, err := d.Stage.Count(ctx)
	if err == nil {
		d.record(n, now)
	}
	return err
}

func (d *drainRun) recordHandoff(from, to *stage.Client) {
	was, is := from.Wire.Moments(), to.Wire.Moments()
	released, granted := time.Duration(from.ReleasedAt.Load()), time.Duration(to.GrantedAt.Load())
	if was.Changed < released || is.Notified < was.Changed || granted < is.Notified {
		return // the messages belong to another hand-off: the client was granted without a notification, or was notified again
	}
	h := &history.Handoff{Phase: d.Stage.Phase.Name, Round: d.Stage.Round, From: from.Number, To: to.Number,
		Released: released, Sent: was.Changed, Applied: min(was.Applied, is.Notified), Notified: is.Notified, Granted: granted}
	h.Asked, h.Answered = h.Notified, h.Notified
	if is.Asked > 0 && is.Asked <= granted {
		h.Asked, h.Answered = is.Asked, min(max(is.Answered, is.Asked), granted)
	}
	d.Stage.Record.Record(h)
}

// hold lets the holder write to the resource, and waits for the phase's hold time and until the
// notifications of the k hand-offs so far have arrived. One-shot watches coalesce if two releases
// follow each other closely; the count would then depend on the machine.
func (d *drainRun) hold(ctx context.Context, holder *stage.Attempt, k int) error {
	until := time.Now().Add(d.Stage.Phase.Hold)
	holder.Write(ctx)
	if err := stage.Pause(ctx, time.Until(until)); err != nil {
		return err
	}
	return d.awaitNotifications(ctx, k)
}

func (d *drainRun) awaitNotifications(ctx context.Context, k int) error {
	formula := d.Stage.Cell.Subject.Formulas.Drain
	if formula == nil || d.incomplete || k == 0 {
		return nil
	}
	want := formula(len(d.Stage.Clients), k)
	err := stage.Poll(ctx, stage.QuietLimit, func(context.Context) (bool, error) {
		now := d.Stage.Tap.Totals()
		got := now.Sub(d.base.Wire)
		return got.Notifications.Total() >= want.Notifications && stage.Lists(got) >= want.Lists && now.InFlight == 0, nil
	})
	if errors.Is(err, stage.ErrPollLimit) {
		d.incomplete = true
		return nil
	}
	return err
}

func (d *drainRun) record(n int, now stage.Counts) {
	handoffs := n - d.Stage.Holders()
	if d.Stage.IsBarrier() {
		handoffs = n // passages
	}
	r := d.Stage.Traffic(history.OfHandoff, handoffs, d.Stage.Round, d.base, now)
	if formula := d.Stage.Cell.Subject.Formulas.Drain; formula != nil {
		want := formula(n, n)
		r.ExpectedNotifications = &want.Notifications
		r.ExpectedRequests = new(want.Requests() + d.confirmations(now.Wire.Sub(d.base.Wire)))
	}
	d.Stage.Record.Record(r)
}

// confirmations returns the number of requests with which waiters confirmed their sessions: a write that
// changes nothing and a read each. A client does so only after it has waited for a session timeout.
func (d *drainRun) confirmations(w wire.Counts) int64 {
	if d.Stage.Clock.Now()-d.began < d.Stage.Scenario.SessionTimeout {
		return 0
	}
	return 2 * min(w.Errors.Of(wire.Delete), int64(len(d.Stage.Clients)))
}

// deliver is the drain of a queue: all clients are idle consumers; a producer puts an item, and puts
// the next only when all are idle again. A round has as many items as consumers. Nothing else happens,
// so that the traffic of a round is the cost of its deliveries.
func deliver(ctx context.Context, st *stage.Stage) error {
	if err := openProducers(ctx, st, 1); err != nil {
		return err
	}
	quiet, err := stage.NewQuietWait(ctx, st, st.Cell.Subject.Formulas.Deliver != nil)
	if err != nil {
		return err
	}
	d := &delivery{QuietWait: quiet, taken: make(chan string, len(st.Clients))}
	if err := d.run(ctx); err != nil {
		return err
	}
	closeProducers(st)
	return st.Renew(ctx)
}

type delivery struct {
	*stage.QuietWait
	taken chan string // IDs of items, in the order in which they were taken
}

func (d *delivery) run(ctx context.Context) error {
	defer startConsumers(ctx, d.Stage, func(taking context.Context, c *stage.Client) {
		c.Consume(taking, func(id string) {
			select {
			case d.taken <- id:
			case <-taking.Done():
			}
		})
	})()
	base, err := d.Wait(ctx, d.Initial.Wire, 0, int64(len(d.Stage.Clients)))
	if err != nil {
		return err
	}
	for round := 1; round <= d.Stage.Phase.Rounds; round++ {
		if base, err = d.deliverRound(ctx, round, base); err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	// All consumers are idle: wait only until every member shows the queue empty.
	return d.Stage.WaitQueueEmpty(ctx, d.Stage.GrantTimeout())
}

func (d *delivery) deliverRound(ctx context.Context, round int, base stage.Counts) (now stage.Counts, err error) {
	st := d.Stage
	formula, n := st.Cell.Subject.Formulas.Deliver, len(st.Clients)
	for k := 1; k <= n; k++ {
		st.Report("round %d of %d, %d of %d", round, st.Phase.Rounds, k, n)
		id, err := st.Producers[0].PutNext(ctx)
		if err != nil {
			return now, fmt.Errorf("put item %s: %w", id, err)
		}
		if err := d.awaitTaken(ctx, id); err != nil {
			return now, err
		}
		var expected int64
		if formula != nil {
			expected = formula(n, k).Notifications
		}
		if now, err = d.Wait(ctx, base.Wire, expected, int64(n)); err != nil {
			return now, err
		}
	}
	r := st.Traffic(history.OfHandoff, n, round, base, now) // a delivery counts as a hand-off
	if formula != nil {
		want := formula(n, n)
		r.ExpectedNotifications, r.ExpectedRequests = &want.Notifications, new(want.Requests())
	}
	st.Record.Record(r)
	return now, nil
}

func (d *delivery) awaitTaken(ctx context.Context, id string) error {
	limit := time.After(d.Stage.GrantTimeout())
	for {
		select {
		case got := <-d.taken:
			if got == id {
				return nil
			}
		case <-limit:
			if err := d.Stage.SnapshotStuck(ctx); err != nil {
				return err
			}
			return fmt.Errorf("item %s was not taken within %v", id, d.Stage.GrantTimeout())
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// passBarrier is the drain of a barrier: the clients enter and leave one after the other. It counts
// the traffic from the moment at which all but the last client have entered.
func passBarrier(ctx context.Context, st *stage.Stage) error {
	st.Counting.Store(true)
	defer st.Counting.Store(false)
	quiet, err := stage.NewQuietWait(ctx, st, false) // the number of watches does not show that all clients wait: a client may have several
	if err != nil {
		return err
	}
	d := &drainRun{QuietWait: quiet, began: st.Clock.Now()}
	calls, giveUp := context.WithCancel(ctx)
	var members []*stage.Attempt
	defer func() { st.CancelAttempts(giveUp, members) }()
	n := len(st.Clients)
	for i, c := range st.Clients {
		if i == n-1 {
			if d.base, err = d.AwaitIdle(ctx); err != nil {
				return err
			}
		}
		members = append(members, c.StartAttempt(calls))
		if i < n-1 {
			if err := st.AwaitInLine(ctx, i+1, stage.JoinLimit); err != nil {
				return err
			}
		}
	}
	for _, a := range members {
		if !a.AwaitReturn(ctx, st.GrantTimeout()) {
			_ = st.SnapshotStuck(ctx)
			return fmt.Errorf("client %d did not pass the barrier within %v, although all clients had entered it", a.Client.Number, st.GrantTimeout())
		}
		if a.Err != nil {
			return fmt.Errorf("client %d: %w", a.Client.Number, a.Err)
		}
	}
	if err := stage.Pause(ctx, st.Phase.Hold); err != nil {
		return err
	}
	left := make(chan error, n)
	for i, a := range members {
		st.Report("round %d of %d, client %d of %d", st.Round, st.Phase.Rounds, i+1, n)
		if _, err := d.AwaitIdle(ctx); err != nil {
			return err
		}
		go func() { left <- a.Release(ctx) }()
	}
	for range n {
		if failed := <-left; failed != nil {
			err = failed
		}
	}
	if err != nil {
		return err
	}
	now, err := d.AwaitIdle(ctx)
	if err == nil {
		d.record(n, now)
	}
	return err
}
