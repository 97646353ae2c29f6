package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/chaos/wire"
)

// settler waits until everything that one act has set off is over: whoever was to be
// woken has been, and watches again.
type settler struct {
	st    *stage
	quiet counts // before anybody stood in line
	exact bool   // the members count watches, and a formula says what is to come
}

// newSettler counts before anybody stands in line. formula: one says what is to come.
func (st *stage) newSettler(ctx context.Context, formula bool) (*settler, error) {
	quiet, err := st.count(ctx)
	exact := formula && quiet.watches >= 0 && st.members.ours()
	return &settler{st: st, quiet: quiet, exact: exact}, err
}

// wait returns what is counted once that many notifications have arrived since the
// given counts, that many watches of the clients stand, and no request is under way.
// What the formula promises and does not come within a limit is not waited for a
// second time: from then on, and where there is no formula or no count of watches,
// it waits until nothing has moved for a while.
func (s *settler) wait(ctx context.Context, since wire.Counts, notifications, watches int64) (now counts, err error) {
	if !s.exact {
		return s.still(ctx)
	}
	err = poll(ctx, settleLimit, func(ctx context.Context) (bool, error) {
		w := s.st.tap.Totals()
		if w.InFlight > 0 || w.Sub(since).Notifications.Total() < notifications {
			return false, nil // do not trouble the members
		}
		now, err = s.st.count(ctx)
		// Counted before the members were asked: what led to the last watch may
		// have come in between.
		now.wire = s.st.tap.Totals()
		return now.wire.InFlight == 0 && now.watches-s.quiet.watches == watches, err
	})
	if !errors.Is(err, errPollLimit) {
		return now, err
	}
	s.exact = false
	return s.still(ctx)
}

// still returns what is counted once nothing moves any more, for the members either, or
// nothing but clients that poll.
func (s *settler) still(ctx context.Context) (now counts, err error) {
	var still stillness
	err = poll(ctx, joinLimit, func(ctx context.Context) (bool, error) {
		now, err = s.st.count(ctx)
		return still.see(now.wire) || still.polling(), err
	})
	if err != nil {
		return now, fmt.Errorf("wait until nothing moves (%d requests under way): %w", now.wire.InFlight, err)
	}
	return now, nil
}
