package scenarios

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/chaos/wire"
)

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

// wait returns the counts once that many notifications have arrived since the given counts, the
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
