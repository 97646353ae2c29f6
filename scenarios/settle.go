package scenarios

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
)

// settling waits until everything that one act has set off is over: whoever was to
// be woken has been, and watches again.
type settling struct {
	*trial
	quiet counts // before anybody stood in line
	exact bool   // the members count watches, and a formula says what is to come
}

// newSettling counts before anybody stands in line. formula: the subject says what its
// phase costs.
func (t *trial) newSettling(ctx context.Context, formula bool) (*settling, error) {
	quiet, err := t.gather(ctx)
	if err != nil {
		return nil, err
	}
	exact := formula && quiet.watches >= 0 && t.lab.Ensemble.Kind != ensembles.External
	return &settling{trial: t, quiet: quiet, exact: exact}, nil
}

// wait returns what is counted once that many notifications have arrived since the
// given counts, that many watches of the clients stand, and no request is under way.
// What the formula promises and does not come within a limit is not waited for a
// second time: from then on, and where there is no formula or no count of watches,
// it waits until nothing has moved for a while.
func (s *settling) wait(ctx context.Context, since wire.Counts, notifications, watches int64) (now counts, err error) {
	if s.exact {
		err = poll(ctx, settleLimit, func(ctx context.Context) (bool, error) {
			w := s.tap.Totals()
			if w.InFlight > 0 || w.Sub(since).Notifications.Total() < notifications {
				return false, nil // do not trouble the members
			}
			now, err = s.gather(ctx)
			// Counted before the members were asked: what led to the last watch may
			// have come in between.
			now.wire = s.tap.Totals()
			return now.wire.InFlight == 0 && now.watches-s.quiet.watches == watches, err
		})
		if !errors.Is(err, errPollLimit) {
			return now, err
		}
		s.exact = false
	}
	return s.still(ctx)
}

// still returns what is counted once nothing has moved for stillPolls looks.
func (s *settling) still(ctx context.Context) (now counts, err error) {
	var last wire.Counts
	looks := 0
	err = poll(ctx, joinLimit, func(ctx context.Context) (bool, error) {
		now, err = s.gather(ctx)
		if err != nil {
			return false, err
		}
		looks++
		if now.wire.InFlight > 0 || now.wire.Requests.Total() != last.Requests.Total() || now.wire.Notifications != last.Notifications {
			looks = 0
		}
		last = now.wire
		return looks >= stillPolls, nil
	})
	if err != nil {
		return now, fmt.Errorf("wait until nothing moves (%d requests under way): %w", now.wire.InFlight, err)
	}
	return now, nil
}

// children returns the smallest and the largest number of children with a matching
// name that the members see at path. A path that is missing has none.
func (h *harness) children(ctx context.Context, path string, match *regexp.Regexp) (fewest, most int, err error) {
	for i := range h.servers {
		s, err := h.member(ctx, i)
		if err != nil {
			return 0, 0, err
		}
		names, err := s.List(ctx, path)
		if err != nil && !errors.Is(err, zk.ErrNoNode) {
			return 0, 0, err
		}
		n := 0
		for _, name := range names {
			if match.MatchString(name) {
				n++
			}
		}
		if i == 0 {
			fewest = n
		}
		fewest, most = min(fewest, n), max(most, n)
	}
	return fewest, most, nil
}

// sequential matches the names of sequential nodes.
var sequential = regexp.MustCompile(`[-0-9][0-9]{9}$`)

// standing waits until every member sees n nodes in the line at path.
func (t *trial) standing(ctx context.Context, path string, n int) error {
	err := poll(ctx, joinLimit, func(ctx context.Context) (bool, error) {
		fewest, most, err := t.harness.children(ctx, path, sequential)
		return fewest == n && most == n, err
	})
	if err != nil {
		return fmt.Errorf("wait until %d nodes stand at %s: %w", n, path, err)
	}
	return nil
}

// renew gives every client a new session. What the old ones left behind (the watches
// of waiters that gave up) must not be counted in the next round.
func (t *trial) renew(ctx context.Context) error {
	t.closeClients()
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(16)
	for _, c := range t.clients {
		g.Go(func() error { return c.open(ctx) })
	}
	return g.Wait()
}

// patience is how long the next in line may take to be let in after a session was
// lost: until it has expired, and a margin.
func (t *trial) patience() time.Duration {
	return t.scenario.SessionTimeout + t.scenario.SessionTimeout/2 + settleLimit
}
