package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

var _ = register(Kind{
	Name:  "partition.leader",
	About: "cuts the leader off from everyone, until the others have elected another",
	Proof: "its packets are dropped, and another member leads",
	needs: []need{needsNetwork, {about: "3 members"}},
	build: func(string, settings) injector { return partitionLeader },
})

func partitionLeader(ctx context.Context, t Target) (Effect, error) {
	if n := len(t.Ensemble.Voting()); n < 3 {
		return Effect{}, fmt.Errorf("%w: the rest of %d members has no majority that could elect; use 3", ErrSkipped, n)
	}
	return onMember(Leader, func(ctx context.Context, t Target, v victim) (Effect, error) {
		e, err := cutOff(ctx, t, v, packetRule{})
		if err != nil {
			return e, err
		}
		err = act(ctx, nil, func() error {
			next, err := another(ctx, t.Ensemble, v.Member)
			if err == nil {
				e.Proof += fmt.Sprintf("; %s leads now", next.Name)
			}
			return err
		}, e.Undo)
		return e, err
	})(ctx, t)
}

// another waits until a member other than the old leader leads.
func another(ctx context.Context, e *ensembles.Ensemble, old *ensembles.Member) (next *ensembles.Member, err error) {
	rest := &ensembles.Ensemble{Members: others(e, old)}
	err = poll(ctx, returnLimit, func(ctx context.Context) (err error) {
		next, err = ensembles.Leader(ctx, rest)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: no other member leads", ErrNoEffect), err)
	}
	return next, nil
}
