package scenarios

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// Limits on waiting, far above the needs of a sound recipe.
const (
	joinLimit   = 30 * time.Second // for all clients to be in line
	settleLimit = 10 * time.Second // for the notifications of a formula
)

var errPollLimit = errors.New("it did not come true")

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

// pause returns after d, or when ctx is done, with its error.
func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stillPolls is the number of successive polls that must show the same counts for a line to be still.
const stillPolls = 25

// onlyAsked is the time for which a line must have sent only reads to count as polling.
const onlyAsked = 2 * time.Second

// stillness detects from polls of the tap that nothing changes.
type stillness struct {
	last    wire.Counts
	polls   int
	changed time.Time // time of the last change or notification
}

// polling reports whether clients have sent only reads for a while, without a notification: they
// will not become idle.
func (s *stillness) polling() bool { return time.Since(s.changed) >= onlyAsked }

// changes counts writes, notifications and connections.
func changes(c wire.Counts) int64 {
	n := c.Notifications.Total() + c.Connections
	for _, op := range wire.Ops() {
		if op.Changes() {
			n += c.Requests.Of(op)
		}
	}
	return n
}

// see takes a poll and reports whether nothing has changed for long enough.
func (s *stillness) see(now wire.Counts) bool {
	if s.changed.IsZero() || changes(now) != changes(s.last) {
		s.changed = time.Now()
	}
	s.polls++
	if now.InFlight > now.Pinging || now.Requests.Total() != s.last.Requests.Total() || now.Notifications != s.last.Notifications {
		s.polls = 0
	}
	s.last = now
	return s.polls >= stillPolls
}

// still waits, within limit, until nothing changes on the wire.
func (st *stage) still(ctx context.Context, limit time.Duration) error {
	var s stillness
	return poll(ctx, limit, func(context.Context) (bool, error) { return s.see(st.tap.Totals()), nil })
}

// lineless is the time for which the wire must be still while all other clients acquire, for a
// recipe to count as one whose waiters have no nodes.
const lineless = 3 * time.Second

// inLine waits until every member shows the nodes of n clients, one of which may hold; or until n -
// 1 wait without nodes. A member that was restarted may not answer at first.
func (st *stage) inLine(ctx context.Context, n int, limit time.Duration) error {
	var last error
	var s stillness
	moved := time.Now()
	err := poll(ctx, limit, func(ctx context.Context) (bool, error) {
		var fewest int
		if fewest, last = st.observer.inLine(ctx, st.parent); last == nil && fewest >= n {
			return true, nil
		}
		if !s.see(st.tap.Totals()) || st.acquiring() < n-1 {
			moved = time.Now()
		}
		return time.Since(moved) >= lineless, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %d clients are in line: %w", n, errors.Join(err, last))
	}
	return nil
}

// acquiring returns how many clients are in acquire.
func (st *stage) acquiring() (n int) {
	for _, c := range st.clients {
		if o := c.under.Load(); o != nil && o.op == history.Acquire {
			n++
		}
	}
	return n
}

// standing waits until every member shows exactly n nodes in the line at path.
func (st *stage) standing(ctx context.Context, path string, n int, limit time.Duration) error {
	var last error
	err := poll(ctx, limit, func(ctx context.Context) (bool, error) {
		var fewest, most int
		fewest, most, last = st.observer.children(ctx, path)
		return last == nil && fewest == n && most == n, nil
	})
	if err != nil {
		return fmt.Errorf("the waiter to flap is chosen by the numbers of the queue nodes, but the members do not all have %d numbered nodes at %s: %w", n, path, errors.Join(err, last))
	}
	return nil
}
