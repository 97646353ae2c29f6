package phases

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/scenarios/stage"
)

// gatherOnce is the drain of a barrier: the clients enter and leave one after the other. It counts
// the traffic from the moment at which all but the last client have entered.
func gatherOnce(ctx context.Context, st *stage.Stage) error {
	st.Counting.Store(true)
	defer st.Counting.Store(false)
	quiet, err := st.NewQuietWait(ctx, false) // the number of watches does not show that all clients wait: a client may have several
	if err != nil {
		return err
	}
	d := &drained{QuietWait: quiet, began: st.Clock.Now()}
	calls, giveUp := context.WithCancel(ctx)
	var members []*stage.Attempt
	defer func() {
		st.Waiting()
		giveUp()
		for _, a := range members {
			<-a.Done
		}
	}()
	n := len(st.Clients)
	for i, c := range st.Clients {
		if i == n-1 {
			if d.base, err = d.Still(ctx); err != nil {
				return err
			}
		}
		members = append(members, c.Begin(calls))
		if i < n-1 {
			if err := st.InLine(ctx, i+1, stage.JoinLimit); err != nil {
				return err
			}
		}
	}
	for _, a := range members {
		if !a.Returned(ctx, st.Patience()) {
			_ = st.SnapshotStuck(ctx)
			return fmt.Errorf("client %d did not pass the barrier within %v, although all clients had entered it", a.Client.Number, st.Patience())
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
		if _, err := d.Still(ctx); err != nil {
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
	now, err := d.Still(ctx)
	if err != nil {
		return err
	}
	return d.record(n, now)
}
