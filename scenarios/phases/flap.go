package phases

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

func init() {
	stage.AddKind(spec.Kind{
		Name:       history.FlapPhase,
		About:      "one waiter loses its session and rejoins; the requests and notifications of the other clients are counted",
		Pace:       history.ByHarness,
		Fields:     []string{"rounds", "size"},
		Validate:   (*spec.Phase).CheckRounds,
		MinClients: func(*spec.Phase) (int, string) { return 2, "a flap requires other clients that wait" },
	}, flap)
}

// flap repeatedly makes a waiter in the middle of the line lose its session and rejoin. The other clients
// only wait, so that their traffic is the cost of the flaps.
func flap(ctx context.Context, st *stage.Stage) error {
	quiet, err := stage.NewQuietWait(ctx, st, st.Cell.Subject.Formulas.Flap != nil)
	if err != nil {
		return err
	}
	f := &flaps{QuietWait: quiet}
	if st.IsQueue() {
		err = f.runQueue(ctx)
	} else {
		err = f.run(ctx)
	}
	if err != nil {
		return err
	}
	// The nodes of this phase must not remain in the next.
	if err := st.Renew(ctx); err != nil || st.IsQueue() {
		return err
	}
	// A further grant shows that the line is not blocked; a single grant has no order to evaluate.
	return f.hold(ctx, st.Clients[1:2], func() error { return nil })
}

type flaps struct {
	*stage.QuietWait
	line []*stage.Attempt
}

func (f *flaps) run(ctx context.Context) error {
	n := f.Stage.Holders()
	if n == len(f.Stage.Clients) {
		return fmt.Errorf("all %d clients hold a permit, so no client waits and could flap: use more clients or fewer permits", n)
	}
	return f.hold(ctx, f.Stage.Clients[:n], func() error {
		return f.runFlaps(ctx, f.Stage.Clients[n:], func(context.Context) error { return nil })
	})
}

// hold lets each client acquire, calls between while all hold, and lets them release.
func (f *flaps) hold(ctx context.Context, clients []*stage.Client, between func() error) error {
	if len(clients) == 0 {
		return between()
	}
	holder, err := clients[0].AcquireUncontended(ctx)
	if err != nil {
		return err
	}
	err = f.hold(ctx, clients[1:], between)
	holder.Write(ctx)
	return errors.Join(err, holder.Release(ctx))
}

// runQueue runs the flaps at an empty queue, and then puts two items for the waiters, one after the other. The
// verdicts check that the items arrive.
func (f *flaps) runQueue(ctx context.Context) error {
	if err := openProducers(ctx, f.Stage, 1); err != nil {
		return err
	}
	defer closeProducers(f.Stage)
	return f.runFlaps(ctx, f.Stage.Clients, func(ctx context.Context) error {
		for range 2 {
			if _, err := f.Stage.Producers[0].PutNext(ctx); err != nil {
				return err
			}
		}
		return f.Stage.WaitQueueEmpty(ctx, f.Stage.GrantTimeout())
	})
}

func (f *flaps) runFlaps(ctx context.Context, waiters []*stage.Client, last func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() { f.Stage.CancelAttempts(cancel, f.line) }()
	for _, c := range waiters {
		if err := f.join(ctx, c); err != nil {
			return err
		}
	}
	if _, err := f.Wait(ctx, f.Initial.Wire, 0, int64(len(f.line))); err != nil {
		return err
	}
	for k := 1; k <= f.Stage.Phase.Rounds; k++ {
		f.Stage.Report("flap %d of %d", k, f.Stage.Phase.Rounds)
		if err := f.flapOnce(ctx, k); err != nil {
			return fmt.Errorf("flap %d: %w", k, err)
		}
	}
	return last(ctx)
}

func (f *flaps) join(ctx context.Context, c *stage.Client) error {
	f.line = append(f.line, c.StartAttempt(ctx))
	return f.awaitLine(ctx)
}

// awaitLine waits until every member shows the nodes of all waiters, because the flapping client is selected
// by its position.
func (f *flaps) awaitLine(ctx context.Context) error {
	switch {
	case !f.Stage.IsQueue():
		return awaitLineLength(ctx, f.Stage, f.Stage.Parent, len(f.line)+f.Stage.Holders())
	case f.Stage.Cell.Subject.LineNode != "":
		return awaitLineLength(ctx, f.Stage, f.Stage.Parent+"/"+f.Stage.Cell.Subject.LineNode, len(f.line))
	}
	return nil
}

func awaitLineLength(ctx context.Context, st *stage.Stage, path string, n int) error {
	var last error
	err := stage.Poll(ctx, stage.JoinLimit, func(ctx context.Context) (bool, error) {
		var fewest, most int
		fewest, most, last = st.Observer.InLine(ctx, path)
		return last == nil && fewest == n && most == n, nil
	})
	if err != nil {
		return fmt.Errorf("a flap selects its waiter by the sequence numbers of the nodes, but not every member shows %d sequential nodes at %s: %w", n, path, errors.Join(err, last))
	}
	return nil
}

var errGranted = errors.New("a waiter received a grant although no holder had released its own")

// flapOnce runs the k-th flap: the waiter in the middle leaves and rejoins at the end of the line.
func (f *flaps) flapOnce(ctx context.Context, k int) error {
	formula := f.Stage.Cell.Subject.Formulas.Flap
	i := (len(f.line) - 1) / 2
	a, behind := f.line[i], len(f.line)-1-i
	var leave, rejoin int64
	if formula != nil {
		leave, rejoin = formula(len(f.Stage.Clients), behind)
	}
	base, err := f.Stage.Count(ctx)
	if err != nil {
		return err
	}
	a.Client.Close()
	if err := stage.Await(ctx, a.Done); err != nil {
		return err
	}
	f.line = append(f.line[:i:i], f.line[i+1:]...)
	if a.Err == nil {
		return fmt.Errorf("client %d: %w", a.Client.Number, errGranted)
	}
	if err := f.awaitLine(ctx); err != nil {
		return err
	}
	if _, err := f.Wait(ctx, base.Wire, leave, int64(len(f.line))); err != nil {
		return err
	}
	if err := a.Client.Open(ctx); err != nil {
		return err
	}
	if err := f.join(ctx, a.Client); err != nil {
		return err
	}
	now, err := f.Wait(ctx, base.Wire, leave+rejoin, int64(len(f.line)))
	if err != nil {
		return err
	}
	r := f.Stage.Traffic(history.OfFlap, 1, k, base, now)
	if formula != nil {
		r.ExpectedNotifications = new(leave + rejoin)
	}
	f.Stage.Record.Record(r)
	return nil
}
