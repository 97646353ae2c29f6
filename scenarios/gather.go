package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// counts is what has been counted at one instant.
type counts struct {
	wire    wire.Counts
	fired   int64 // notifications fired, by the members' own counters; -1 if they do not tell
	watches int64 // watches that stand now; -1 if they do not tell
}

// The members' own counters of fired watches, by what fired them (mntr, ZooKeeper
// 3.6 and later).
var firedCounters = []string{
	"sum_node_created_watch_count", "sum_node_deleted_watch_count",
	"sum_node_changed_watch_count", "sum_node_children_watch_count",
}

// gather counts at the taps and asks every member for its counters. A member that
// does not tell them, because mntr is not on its white list, is no error.
func (t *trial) gather(ctx context.Context) (counts, error) {
	c := counts{wire: t.tap.Totals()}
	if t.shared {
		c.fired, c.watches = -1, -1
		return c, nil
	}
	for _, m := range t.lab.Ensemble.Members {
		mntr, err := ensembles.Monitor(ctx, m.Addr)
		if ctx.Err() != nil {
			return c, ctx.Err()
		}
		if _, ok := mntr[firedCounters[0]]; err != nil || !ok {
			c.fired, c.watches = -1, -1
			return c, nil
		}
		for _, key := range firedCounters {
			c.fired += int64(mntr[key])
		}
		c.watches += int64(mntr["watch_count"])
	}
	return c, nil
}

// joinLimit is how long all clients may take to stand in line.
const joinLimit = 30 * time.Second

// joined returns when every client stands in line and watches: every member has all
// their nodes, so no wake-up of a join is still to come; no request is under way;
// and the members count one watch for each waiter. Where the members do not count, or no formula says what to
// expect, it waits until the wire has been still for a while.
func (d *drain) joined(ctx context.Context) error {
	n := len(d.clients)
	err := poll(ctx, joinLimit, func(ctx context.Context) (bool, error) {
		nodes, err := d.harness.fewest(ctx, d.parent)
		return nodes >= n, err
	})
	if err != nil {
		return fmt.Errorf("wait until %d clients stand in line: %w", n, err)
	}
	exact := d.cell.Subject.Formulas.Drain != nil && d.quiet.watches >= 0 && d.lab.Ensemble.Kind != ensembles.External
	var last wire.Counts
	var now counts
	still := 0
	err = poll(ctx, joinLimit, func(ctx context.Context) (_ bool, err error) {
		now, err = d.gather(ctx)
		if err != nil || now.wire.InFlight > 0 {
			return false, err
		}
		if exact {
			return now.watches-d.quiet.watches == int64(n-1), nil
		}
		if now.wire.Requests.Total() == last.Requests.Total() && now.wire.Notifications == last.Notifications {
			still++
		} else {
			still = 0
		}
		last = now.wire
		return still >= stillPolls, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %d clients stand in line and watch (%d requests under way, %d watches before, %d now): %w",
			n, now.wire.InFlight, d.quiet.watches, now.watches, err)
	}
	return nil
}

// stillPolls is for how many looks in a row nothing may have moved before a line
// counts as settled that no formula describes.
const stillPolls = 25

// fewest returns the smallest number of children that any member sees at path.
func (h *harness) fewest(ctx context.Context, path string) (int, error) {
	fewest := -1
	for i := range h.servers {
		s, err := h.member(ctx, i)
		if err != nil {
			return 0, err
		}
		names, err := s.List(ctx, path)
		if err != nil {
			return 0, err
		}
		if fewest < 0 || len(names) < fewest {
			fewest = len(names)
		}
	}
	return fewest, nil
}

var errPollLimit = errors.New("it did not come true")

// poll asks until the answer is yes, an error, ctx is done, or limit has passed.
func poll(ctx context.Context, limit time.Duration, yes func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w within %v", errPollLimit, limit))
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := yes(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if ok || err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
