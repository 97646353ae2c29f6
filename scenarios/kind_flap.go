package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/report/history"
)

func init() {
	addKind(kind{
		name:     history.FlapPhase,
		about:    "one waiter loses its session and rejoins; the requests and notifications of the other clients are counted",
		pace:     history.ByHarness,
		fields:   []string{"rounds", "size"},
		validate: (*Phase).rounds,
		tooFew: func(p *Phase, clients int) string {
			if clients < 2 {
				return fmt.Sprintf("%d leaves no waiter while it flaps", clients)
			}
			return ""
		},
		run: flap,
	})
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
	return f.holdOnce(ctx, st.clients[1], func() error { return nil })
}

type flaps struct {
	*quietWait
	line []*attempt
}

func (f *flaps) run(ctx context.Context) error {
	return f.holdOnce(ctx, f.st.clients[0], func() error {
		return f.wave(ctx, f.st.clients[1:], func(context.Context) error { return nil })
	})
}

// holdOnce has a client acquire and release, and calls in the meantime in between.
func (f *flaps) holdOnce(ctx context.Context, c *client, meanwhile func() error) error {
	holder, err := c.first(ctx)
	if err != nil {
		return err
	}
	err = meanwhile()
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

// join makes the client wait at the end of the queue.
func (f *flaps) join(ctx context.Context, c *client) error {
	f.line = append(f.line, c.begin(ctx))
	return f.stand(ctx)
}

// stand waits until every member shows the nodes of all waiters: the flapping client is chosen by
// its position.
func (f *flaps) stand(ctx context.Context) error {
	switch {
	case !f.st.queue():
		return f.st.standing(ctx, f.st.parent, len(f.line)+1, joinLimit)
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
