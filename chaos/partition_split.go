package chaos

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// partitionSplit parts the members into a minority and a majority that do not reach
// each other. Clients reach both, so a client can talk to a member that has no quorum
// any more.
type partitionSplit struct {
	member string // is in the minority: Leader, Follower, Any or a member's name
	size   int    // of the minority; 0: as many as make a minority
}

var _ = register(Kind{
	Name:   "partition.split",
	About:  "parts the members into a minority, with the target, and a majority; clients reach both",
	Proof:  "packets between the sides are dropped",
	Target: Leader, Targets: memberTargets,
	Params: []Param{{"size", "0", "members in the minority; 0: as many as make a minority"}},
	needs:  []need{needsNetwork, {about: "3 members"}},
	build: func(target string, s settings) injector {
		return partitionSplit{member: target, size: s.number("size", 0, 100)}
	},
})

func (f partitionSplit) inject(ctx context.Context, t Target) (Effect, error) {
	list, err := f.sides(ctx, t)
	if err != nil {
		return Effect{}, err
	}
	return cutPeers(ctx, t, list)
}

// sides picks the minority: the target, and others by the seed.
func (f partitionSplit) sides(ctx context.Context, t Target) ([]memberRule, error) {
	size := f.size
	if size == 0 {
		size = (len(t.Ensemble.Members) - 1) / 2
	}
	if size == 0 || 2*size >= len(t.Ensemble.Members) {
		return nil, fmt.Errorf("%w: %d of %d members are no minority; use more members or a smaller size", ErrSkipped, size, len(t.Ensemble.Members))
	}
	v, err := pickMember(ctx, t, f.member)
	if err != nil {
		return nil, err
	}
	minority := []victim{v}
	var majority []*ensembles.Member
	for _, m := range t.Ensemble.Members {
		if m != v.Member {
			majority = append(majority, m)
		}
	}
	for len(minority) < size {
		i := t.random(len(majority))
		minority = append(minority, victim{Member: majority[i]})
		majority = append(majority[:i:i], majority[i+1:]...)
	}
	others, err := ips(majority)
	var list []memberRule
	for _, v := range minority {
		list = append(list, memberRule{v, packetRule{Peers: others}})
	}
	return list, err
}
