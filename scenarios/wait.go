package scenarios

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"

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

// InLine waits until every member shows the nodes of n clients, some of which may hold; or until the
// others wait without nodes. A member that was restarted may not answer at first.
func (st *stage) inLine(ctx context.Context, n int, limit time.Duration) error {
	var last error
	var s stillness
	moved := time.Now()
	err := poll(ctx, limit, func(ctx context.Context) (bool, error) {
		var fewest int
		if fewest, last = st.observer.InLine(ctx, st.parent); last == nil && fewest >= n {
			return true, nil
		}
		if !s.see(st.tap.Totals()) || st.acquiring() < n-st.notInLine() {
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
		fewest, most, last = st.observer.Children(ctx, path)
		return last == nil && fewest == n && most == n, nil
	})
	if err != nil {
		return fmt.Errorf("a flap selects its waiter by the sequence numbers of the nodes, but not every member shows %d sequential nodes at %s: %w", n, path, errors.Join(err, last))
	}
	return nil
}

// quietWait waits until all effects of an action are over: notified clients have set their watches
// again.
type quietWait struct {
	st    *stage
	quiet counts // counts before any client waits
	exact bool   // the members count watches and there is a formula
}

// newQuietWait counts before any client waits. formula reports whether there is a formula.
func (st *stage) newQuietWait(ctx context.Context, formula bool) (*quietWait, error) {
	quiet, err := st.count(ctx)
	exact := formula && quiet.watches >= 0 && st.members.ours()
	return &quietWait{st: st, quiet: quiet, exact: exact}, err
}

// WhenWaiting returns the counts once that many notifications have arrived since the given counts, the
// clients have that many watches, and no request is in flight. If that does not happen within a
// limit it is not tried again: from then on, and without a formula or counts of watches, wait
// returns when nothing has changed for a while.
func (s *quietWait) wait(ctx context.Context, since wire.Counts, notifications, watches int64) (now counts, err error) {
	if !s.exact {
		return s.still(ctx)
	}
	err = poll(ctx, settleLimit, func(ctx context.Context) (bool, error) {
		w := s.st.tap.Totals()
		if w.InFlight > 0 || w.Sub(since).Notifications.Total() < notifications {
			return false, nil // avoid load on the members
		}
		now, err = s.st.count(ctx)
		// Counted before the members were queried: the notification of the last watch may have come
		// in between.
		now.wire = s.st.tap.Totals()
		return now.wire.InFlight == 0 && now.watches-s.quiet.watches == watches, err
	})
	if !errors.Is(err, errPollLimit) {
		return now, err
	}
	s.exact = false
	return s.still(ctx)
}

// still returns the counts once nothing changes any longer, at the members too, or all clients only
// poll.
func (s *quietWait) still(ctx context.Context) (now counts, err error) {
	var still stillness
	err = poll(ctx, joinLimit, func(ctx context.Context) (bool, error) {
		now, err = s.st.count(ctx)
		return still.see(now.wire) || still.polling(), err
	})
	if err != nil {
		return now, fmt.Errorf("wait until no requests are pending (%d are): %w", now.wire.InFlight, err)
	}
	return now, nil
}

// A client whose operations fail repeatedly waits between them: backOffLeast at first, twice as
// long each time, up to backOffMost. The seed shortens each wait by up to half.
const (
	backOffLeast = 5 * time.Millisecond
	backOffMost  = time.Second
)

type backOff struct {
	failures int // in succession
	random   *rand.Rand
	total    atomic.Int64 // nanoseconds
}

func (b *backOff) next() time.Duration {
	d := min(backOffLeast<<min(b.failures, 16), backOffMost)
	b.failures++
	return d - time.Duration(b.random.Int64N(int64(d/2)))
}

func (b *backOff) succeeded() { b.failures = 0 }

func (c *client) backOff(ctx context.Context) {
	if c.back.random == nil {
		c.back.random = rand.New(rand.NewPCG(c.st.planned.Seed, uint64(c.n)))
	}
	start := c.st.clock.Now()
	c.st.backing.Add(1)
	_ = pause(ctx, c.back.next())
	c.st.backing.Add(-1)
	c.back.total.Add(int64(c.st.clock.Now() - start))
}

func (st *stage) backingOff() string {
	if n := st.backing.Load(); n > 0 {
		return fmt.Sprintf(", %d clients back off after errors", n)
	}
	return ""
}

// calm is an episode without a fault. It records the steps.
func calm(p *episodeRun) {
	var scripts []*wire.Transcript
	for _, c := range p.st.clients {
		scripts = append(scripts, c.wire.Record())
	}
	p.episode(nil)
	var seen []spec.SeenStep
	for i, role := range spec.RolesOf(p.st.cell.Subject)[:spec.EpisodeClients] {
		seen = append(seen, stepsOf(role, scripts[i].Frames(), p.course.made[i])...)
	}
	if w := p.st.watch; w != nil && w.Add(seen, p.st.cell.Subject) {
		for _, r := range w.Records(p.st.cell.Subject) {
			r.At = p.st.clock.Now()
			p.st.record.Record(r)
		}
	}
}
