package chaos

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/ensembles"
)

// partition.split divides the members. Clients reach both sides, so a client can be connected to a
// member without a quorum.
var _ = register(Kind{
	Name:   "partition.split",
	About:  "parts the members into a minority, with the target, and a majority; clients reach both",
	Proof:  "packets between the sides are dropped",
	Target: Leader, Targets: memberTargets,
	Params: []Param{{"size", "0", "members that vote in the minority; 0: as many as make a minority"}},
	needs:  []need{needsPeers, {about: "3 members"}},
	build: func(target string, s settings) injector {
		size := s.number("size", 0, 100)
		return onMember(target, func(ctx context.Context, t Target, v victim) (Effect, error) {
			list, err := minority(t, v, size)
			if err != nil {
				return Effect{}, err
			}
			return cutPeers(ctx, t, list)
		})
	},
})

func minority(t Target, v victim, size int) ([]memberRule, error) {
	all := len(t.Ensemble.Voting())
	if size == 0 {
		size = (all - 1) / 2
	}
	if size == 0 || 2*size >= all {
		return nil, fmt.Errorf("%w: %d of %d members are no minority; use more members or a smaller size", ErrSkipped, size, all)
	}
	list, majority := []memberRule{{victim: v}}, others(t.Ensemble, v.Member)
	if v.Observer {
		size++
	}
	for len(list) < size {
		voting := slices.DeleteFunc(slices.Clone(majority), func(m *ensembles.Member) bool { return m.Observer })
		m := voting[t.random(len(voting))]
		list = append(list, memberRule{victim: victim{Member: m}})
		majority = slices.DeleteFunc(majority, func(o *ensembles.Member) bool { return o == m })
	}
	rest, err := ips(majority)
	for i := range list {
		list[i].rule.Peers = rest
	}
	return list, err
}
