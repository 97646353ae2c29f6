package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
)

// member.rolling is a rolling restart: each member serves before the next one stops.
var _ = register(Kind{
	Name:   "member.rolling",
	About:  "restarts all members, one after the other, the leader last",
	Proof:  "each process was gone, and served again before the next one went",
	Params: []Param{paramHow},
	needs:  []need{needsProcess},
	build: func(_ string, s settings) injector {
		how := s.choice("how", "stop", "kill")
		return onMachine(Leader, func(ctx context.Context, t Target, leader victim) (Effect, error) {
			return rolling(ctx, t, leader, how)
		})
	},
})

func rolling(ctx context.Context, t Target, leader victim, how string) (Effect, error) {
	var proof, targets []string
	for _, m := range append(others(t.Ensemble, leader.Member), leader.Member) {
		took, err := restart(ctx, t, victim{Member: m}, how)
		if err == nil {
			err = allServe(ctx, t.Ensemble)
		}
		if err != nil {
			return Effect{}, err
		}
		proof = append(proof, fmt.Sprintf("%s after %v", m.Name, took))
		targets = append(targets, m.Name)
	}
	return Effect{
		Target: strings.Join(targets, ", "),
		Proof:  "each was gone (" + how + ") and served again: " + strings.Join(proof, ", "),
	}, nil
}

// allServe waits until all members serve and one leads.
func allServe(ctx context.Context, e *ensembles.Ensemble) error {
	ctx, cancel := context.WithTimeoutCause(ctx, returnLimit, fmt.Errorf("not within %v", returnLimit))
	defer cancel()
	if err := ensembles.WaitServing(ctx, e); err != nil {
		return errors.Join(ErrNoEffect, err)
	}
	return nil
}
