package scenarios

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// unavailableCheck is the interval at which a trial checks that its ensemble can serve.
const unavailableCheck = time.Second

// unavailableLimit is the time for which no member may have served before the trial ends: sessions
// that an election of a leader interrupts are back within it.
func (st *stage) unavailableLimit() time.Duration { return 15*time.Second + st.scenario.SessionTimeout }

// watchEnsemble calls fail, with an error that names the members that are down, when the ensemble
// has been unable to serve for the limit while no fault that touches members was active. Members
// are queried only while no reply reaches the clients, so that a healthy ensemble has no extra load.
// It returns when ctx ends.
func (st *stage) watchEnsemble(ctx context.Context, fail func(error)) {
	served, replies := time.Now(), int64(-1)
	for pause(ctx, unavailableCheck) == nil {
		if now := st.tap.Totals().Replies; now != replies || st.memberFaults.Load() > 0 {
			served, replies = time.Now(), now
			continue
		}
		down := unavailable(ctx, st.members.ensemble)
		if down == "" {
			served = time.Now()
		} else if silent := time.Since(served); silent > st.unavailableLimit() && ctx.Err() == nil {
			fail(fmt.Errorf("%w: it could not serve for %v, without a fault of the scenario: %s", errNotWhole, silent.Round(time.Second), down))
			return
		}
	}
}

// unavailable describes the members that are down when too few are left for a quorum; else it
// returns "". A member that accepts connections and may not answer counts as serving.
func unavailable(ctx context.Context, e *ensembles.Ensemble) string {
	var down []string
	serving := 0
	for _, s := range ensembles.Status(ctx, e) {
		if s.Serves() || errors.Is(s.Err, ensembles.ErrNotWhitelisted) || errors.Is(s.Err, ensembles.ErrMute) {
			serving++
			continue
		}
		down = append(down, fmt.Sprintf("%s: %v", s.Member.Name, innermost(s.Err)))
	}
	if serving > 0 { // a member serves only while it has a quorum
		return ""
	}
	return strings.Join(down, ", ")
}

// innermost returns the error at the end of err's chain.
func innermost(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}
