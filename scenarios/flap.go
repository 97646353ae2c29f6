package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/zkbench/zkbench/report/history"
)

// flap has a waiter in the middle of the line lose its session and come back, again
// and again, while nobody else does anything: what is counted on the wire is what
// the others have to do with it.
func (t *trial) flap(ctx context.Context) error {
	settle, err := t.newSettling(ctx, t.cell.Subject.Formulas.Flap != nil)
	if err != nil {
		return err
	}
	f := &flapping{settling: settle}
	if err := f.run(ctx); err != nil {
		return err
	}
	// What the waiters left behind is not of the next phase.
	if err := t.renew(ctx); err != nil || t.queue() {
		return err
	}
	return f.again(ctx, t.clients[1])
}

// flapping is the phase: a holder (unless it is a queue), and those who wait.
type flapping struct {
	*settling
	line    []*waiting // in order of joining
	running sync.WaitGroup
}

// waiting is a client that waits for a grant or an item that does not come.
type waiting struct {
	c     *client
	ended chan struct{} // closed when it waits no longer
	err   error         // set before ended is closed: why
}

func (f *flapping) run(ctx context.Context) error {
	if f.queue() {
		if err := f.hire(ctx, 1); err != nil {
			return err
		}
		return f.wave(ctx, f.clients, f.deliver)
	}
	holder := f.clients[0]
	claim, err := holder.acquireFirst(ctx)
	if err != nil {
		return fmt.Errorf("client %d: %w", holder.n, err)
	}
	err = f.wave(ctx, f.clients[1:], func(context.Context) error { return nil })
	holder.write(ctx, claim)
	return errors.Join(err, holder.release(ctx, claim))
}

// wave has the clients wait, flaps, and calls last before they give up.
func (f *flapping) wave(ctx context.Context, waiters []*client, last func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer f.running.Wait()
	defer cancel()
	for _, c := range waiters {
		if err := f.join(ctx, c); err != nil {
			return err
		}
	}
	if _, err := f.wait(ctx, f.quiet.wire, 0, int64(len(f.line))); err != nil {
		return err
	}
	for k := 1; k <= f.phase.Rounds; k++ {
		f.tell(fmt.Sprintf("flap %d of %d", k, f.phase.Rounds), "")
		if err := f.once(ctx, k); err != nil {
			return fmt.Errorf("flap %d: %w", k, err)
		}
	}
	return last(ctx)
}

// again has a client acquire and let go after the line was dissolved: whatever the
// flaps left behind must not be in its way, and one grant alone has no order.
func (f *flapping) again(ctx context.Context, c *client) error {
	claim, err := c.acquireFirst(ctx)
	if err != nil {
		return fmt.Errorf("client %d: %w", c.n, err)
	}
	c.write(ctx, claim)
	return c.release(ctx, claim)
}

// deliver puts two items, of which the first must arrive first, for those who wait:
// whatever the flaps left behind must not be in their way. That they arrive is for the
// verdicts to say.
func (f *flapping) deliver(ctx context.Context) error {
	defer f.dismiss()
	p := f.producers[0]
	for range 2 {
		if err := p.put(ctx, f.itemID(p.n), f.clock.Now()); err != nil {
			return err
		}
	}
	return f.emptied(ctx)
}

// join has the client wait at the end of the line.
func (f *flapping) join(ctx context.Context, c *client) error {
	w := &waiting{c: c, ended: make(chan struct{})}
	f.line = append(f.line, w)
	f.running.Go(func() {
		if f.queue() {
			_, w.err = c.take(ctx)
		} else {
			_, w.err = c.acquire(ctx)
		}
		close(w.ended)
	})
	return f.stand(ctx)
}

// stand waits until every member sees the nodes of all who are in line: who flaps is
// chosen by its place.
func (f *flapping) stand(ctx context.Context) error {
	switch {
	case !f.queue():
		return f.standing(ctx, f.parent, len(f.line)+1)
	case f.cell.Subject.Line != "":
		return f.standing(ctx, f.parent+"/"+f.cell.Subject.Line, len(f.line))
	}
	return nil
}

var errGranted = errors.New("a waiter was granted although nobody had let go")

// once is one flap.
func (f *flapping) once(ctx context.Context, k int) error {
	i := (len(f.line) - 1) / 2
	w, behind := f.line[i], len(f.line)-1-i
	var leave, back int64
	if formula := f.cell.Subject.Formulas.Flap; formula != nil {
		leave, back = formula(len(f.clients), behind)
	}
	base, err := f.gather(ctx)
	if err != nil {
		return err
	}
	f.line = append(f.line[:i:i], f.line[i+1:]...)
	w.c.close()
	select {
	case <-w.ended:
	case <-ctx.Done():
		return ctx.Err()
	}
	if w.err == nil {
		return fmt.Errorf("client %d: %w", w.c.n, errGranted)
	}
	if err := f.stand(ctx); err != nil {
		return err
	}
	if _, err := f.wait(ctx, base.wire, leave, int64(len(f.line))); err != nil {
		return err
	}
	if err := w.c.open(ctx); err != nil {
		return err
	}
	if err := f.join(ctx, w.c); err != nil {
		return err
	}
	now, err := f.wait(ctx, base.wire, leave+back, int64(len(f.line)))
	if err != nil {
		return err
	}
	f.account(base, now, k, leave+back)
	return nil
}

// account records what the flap cost, beside what the formula says.
func (f *flapping) account(base, now counts, k int, expected int64) {
	r := f.traffic(history.OfFlap, 1, k, base, now)
	if f.cell.Subject.Formulas.Flap != nil {
		r.ExpectedNotifications = &expected
	}
	f.record.Record(r)
}
