package chaos

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// PartitionLeader cuts the leader off from everyone, and waits until the others
// have elected another one.
type PartitionLeader struct{}

var partitionLeader = Kind{
	Name:    "partition.leader",
	About:   "cuts the leader off from everyone, until the others have elected another",
	Needs:   needsNetwork + "; 3 members",
	Proof:   "its packets are dropped, and another member leads",
	Members: true,
	build:   func(string, settings) Fault { return PartitionLeader{} },
}

func (f PartitionLeader) String() string { return partitionLeader.Name }

// Inject implements Fault.
func (f PartitionLeader) Inject(ctx context.Context, t Target) (Effect, error) {
	e, err := f.inject(ctx, t)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}

func (f PartitionLeader) inject(ctx context.Context, t Target) (Effect, error) {
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
