package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// partitionLeader cuts the leader off from everyone, and waits until the others
// have elected another one.
type partitionLeader struct{}

var _ = register(Kind{
	Name:  "partition.leader",
	About: "cuts the leader off from everyone, until the others have elected another",
	Proof: "its packets are dropped, and another member leads",
	needs: []need{needsNetwork, {about: "3 members"}},
	build: func(string, settings) injector { return partitionLeader{} },
})

func (f partitionLeader) inject(ctx context.Context, t Target) (Effect, error) {
	if n := len(t.Ensemble.Members); n < 3 {
		return Effect{}, fmt.Errorf("%w: the rest of %d members has no majority that could elect; use 3", ErrSkipped, n)
	}
	e, p, v, err := isolate(ctx, t, Leader)
	if err != nil {
		return Effect{}, err
	}
	e.Proof, err = p.prove(ctx, func() (string, error) {
		next, err := another(ctx, t.Ensemble, v.Member)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s; %s leads now", e.Proof, next.Name), nil
	})
	if err != nil {
		return Effect{}, err
	}
	return e, nil
}

// another waits until a member other than the old leader leads.
func another(ctx context.Context, e *ensembles.Ensemble, old *ensembles.Member) (next *ensembles.Member, err error) {
	rest := &ensembles.Ensemble{}
	for _, m := range e.Members {
		if m != old {
			rest.Members = append(rest.Members, m)
		}
	}
	err = poll(ctx, returnLimit, func(ctx context.Context) (err error) {
		next, err = ensembles.Leader(ctx, rest)
		return err
	})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%w: no other member leads", ErrNoEffect), err)
	}
	return next, nil
}
