package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
)

// memberRolling restarts all members, one after the other, the leader last: an
// upgrade by the book. Each one serves before the next one goes.
type memberRolling struct {
	how string // "stop" (SIGTERM) or "kill" (SIGKILL)
}

var _ = register(Kind{
	Name:   "member.rolling",
	About:  "restarts all members, one after the other, the leader last",
	Proof:  "each process was gone, and served again before the next one went",
	Params: []Param{paramHow},
	needs:  []need{needsProcess},
	build: func(_ string, s settings) injector {
		return memberRolling{how: s.choice("how", "stop", "kill")}
	},
})

func (f memberRolling) inject(ctx context.Context, t Target) (Effect, error) {
	leader, err := pickMachine(ctx, t, Leader)
	if err != nil {
		return Effect{}, err
	}
	order := slices.DeleteFunc(slices.Clone(t.Ensemble.Members), func(m *ensembles.Member) bool { return m == leader.Member })
	order = append(order, leader.Member)
	var proof, targets []string
	for _, m := range order {
		took, err := restart(ctx, t, victim{Member: m}, f.how)
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
		Target: strings.Join(targets, ", "), Client: -1,
		Proof: "each was gone (" + f.how + ") and served again: " + strings.Join(proof, ", "),
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
