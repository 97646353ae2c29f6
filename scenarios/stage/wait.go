package stage

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/report/history"
)

// Limits of waits, far above the needs of a correct recipe.
const (
	JoinLimit  = 30 * time.Second // for all clients to be in line
	QuietLimit = 10 * time.Second // for the notifications of a formula
)

// ErrPollLimit means that a condition was not met within its limit.
var ErrPollLimit = errors.New("the condition was not met")

// Poll calls condition until it returns true or an error. After the limit the error wraps ErrPollLimit.
func Poll(ctx context.Context, limit time.Duration, condition func(context.Context) (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("%w within %v", ErrPollLimit, limit))
	defer cancel()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	for {
		ok, err := condition(ctx)
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

// Pause returns after d, or when ctx is done, with its error.
func Pause(ctx context.Context, d time.Duration) error {
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

// Await waits until done is closed. If ctx is done first, it returns its error.
func Await(ctx context.Context, done <-chan struct{}) error {
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Closed reports whether done is closed, without waiting.
func Closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// IdlePolls is the number of successive polls that must show the same counts for a line to be idle.
const IdlePolls = 25

// pollingThreshold is the time for which clients must send only reads, without a notification, to count as polling.
const pollingThreshold = 2 * time.Second

// IdleDetector detects from repeated counts of a tap that nothing changes.
type IdleDetector struct {
	last    wire.Counts
	Polls   int
	changed time.Time // time of the last change or notification
}

// polling reports whether clients have only sent reads for a while, without a notification: they never become idle.
func (s *IdleDetector) polling() bool { return time.Since(s.changed) >= pollingThreshold }

func changes(c wire.Counts) int64 {
	n := c.Notifications.Total() + c.Connections
	for _, op := range wire.Ops() {
		if op.Changes() {
			n += c.Requests.Of(op)
		}
	}
	return n
}

// Observe compares the counts with those of the last poll, and reports whether nothing has changed for IdlePolls polls.
func (s *IdleDetector) Observe(now wire.Counts) bool {
	if s.changed.IsZero() || changes(now) != changes(s.last) {
		s.changed = time.Now()
	}
	s.Polls++
	if now.InFlight > now.Pinging || now.Requests.Total() != s.last.Requests.Total() || now.Notifications != s.last.Notifications {
		s.Polls = 0
	}
	s.last = now
	return s.Polls >= IdlePolls
}

// nodelessTimeout is the time without traffic, while all other clients acquire, after which the recipe is assumed to
// have waiters without nodes.
const nodelessTimeout = 3 * time.Second

// AwaitInLine waits until every member shows the nodes of n clients, including holders, or until the recipe is
// assumed to have waiters without nodes. Errors are retried: a restarted member may not answer at first.
func (st *Stage) AwaitInLine(ctx context.Context, n int, limit time.Duration) error {
	var last error
	var s IdleDetector
	lastChange := time.Now()
	err := Poll(ctx, limit, func(ctx context.Context) (bool, error) {
		var fewest int
		if fewest, _, last = st.Observer.InLine(ctx, st.Parent); last == nil && fewest >= n {
			return true, nil
		}
		if !s.Observe(st.Tap.Totals()) || st.Acquiring() < n-st.NonWaiterCount() {
			lastChange = time.Now()
		}
		return time.Since(lastChange) >= nodelessTimeout, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %d clients are in line: %w", n, errors.Join(err, last))
	}
	return nil
}

func (st *Stage) Acquiring() (n int) {
	for _, c := range st.Clients {
		if o := c.Pending.Load(); o != nil && o.op == history.Acquire {
			n++
		}
	}
	return n
}

// QuietWait waits until all effects of an action are over: notified clients have set their watches again.
type QuietWait struct {
	Stage   *Stage
	Initial Counts // counts before any client waits
	exact   bool   // the members count watches and there is a formula
}

// NewQuietWait takes the counts before any client waits. formula is true if a formula gives the expected counts.
func NewQuietWait(ctx context.Context, st *Stage, formula bool) (*QuietWait, error) {
	initial, err := st.Count(ctx)
	exact := formula && initial.watches >= 0 && st.Members.IsManaged()
	return &QuietWait{Stage: st, Initial: initial, exact: exact}, err
}

// Wait returns the counts once the given number of notifications have arrived since the earlier counts, the
// clients have the given number of watches, and no request is in flight. It behaves like [QuietWait.AwaitIdle] if
// there is no formula, if the members do not count watches, and after the first call that exceeded QuietLimit.
func (s *QuietWait) Wait(ctx context.Context, since wire.Counts, notifications, watches int64) (now Counts, err error) {
	if !s.exact {
		return s.AwaitIdle(ctx)
	}
	err = Poll(ctx, QuietLimit, func(ctx context.Context) (bool, error) {
		w := s.Stage.Tap.Totals()
		if w.InFlight > 0 || w.Sub(since).Notifications.Total() < notifications {
			return false, nil // the members need not be queried yet
		}
		now, err = s.Stage.Count(ctx)
		// Count the wire again: the notification of the last watch may have arrived during the queries.
		now.Wire = s.Stage.Tap.Totals()
		return now.Wire.InFlight == 0 && now.watches-s.Initial.watches == watches, err
	})
	if !errors.Is(err, ErrPollLimit) {
		return now, err
	}
	s.exact = false
	return s.AwaitIdle(ctx)
}

// AwaitIdle returns the counts once the tap's counts no longer change, or the clients only poll.
func (s *QuietWait) AwaitIdle(ctx context.Context) (now Counts, err error) {
	var still IdleDetector
	err = Poll(ctx, JoinLimit, func(ctx context.Context) (bool, error) {
		now, err = s.Stage.Count(ctx)
		return still.Observe(now.Wire) || still.polling(), err
	})
	if err != nil {
		return now, fmt.Errorf("wait for pending requests: %d are still in flight: %w", now.Wire.InFlight, err)
	}
	return now, nil
}

// A client whose operations fail repeatedly waits between them: minBackOff at first, twice as
// long each time, up to maxBackOff. The seed shortens each wait by up to half.
const (
	minBackOff = 5 * time.Millisecond
	maxBackOff = time.Second
)

type backOff struct {
	failures int // in succession
	random   *rand.Rand
	total    atomic.Int64 // nanoseconds
}

func (b *backOff) next() time.Duration {
	d := min(minBackOff<<min(b.failures, 16), maxBackOff)
	b.failures++
	return d - time.Duration(b.random.Int64N(int64(d/2)))
}

func (b *backOff) succeeded() { b.failures = 0 }

func (c *Client) backOff(ctx context.Context) {
	if c.backoffState.random == nil {
		c.backoffState.random = rand.New(rand.NewPCG(c.Stage.Planned.Seed, uint64(c.Number)))
	}
	start := c.Stage.Clock.Now()
	c.Stage.backing.Add(1)
	_ = Pause(ctx, c.backoffState.next())
	c.Stage.backing.Add(-1)
	c.backoffState.total.Add(int64(c.Stage.Clock.Now() - start))
}

func (st *Stage) backingOff() string {
	if n := st.backing.Load(); n > 0 {
		return fmt.Sprintf(", %d clients are backing off after errors", n)
	}
	return ""
}
