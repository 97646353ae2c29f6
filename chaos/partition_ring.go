package chaos

import (
	"context"
	"fmt"
	"net/netip"

	"github.com/zkbench/zkbench/ensembles"
)

// partition.ring goes by the order of the members' ids: each member reaches a part of
// the ensemble, and no two the same part. With five members each still reaches a
// majority.
var _ = register(Kind{
	Name:  "partition.ring",
	About: "lets each member hear only its two neighbours: majorities that overlap and differ",
	Proof: "packets between members that are no neighbours are dropped",
	needs: []need{needsNetwork, {about: "4 members or more"}},
	build: func(string, settings) injector {
		return func(ctx context.Context, t Target) (Effect, error) {
			list, err := ring(t.Ensemble)
			if err != nil {
				return Effect{}, err
			}
			return cutPeers(ctx, t, list)
		}
	},
})

func ring(e *ensembles.Ensemble) ([]memberRule, error) {
	n := len(e.Members)
	if n < 4 {
		return nil, fmt.Errorf("%w: in a ring of %d members all are neighbours; use --members 5", ErrSkipped, n)
	}
	all, err := ips(e.Members)
	if err != nil {
		return nil, err
	}
	var list []memberRule
	for i, m := range e.Members {
		var far []netip.Addr
		for j, a := range all {
			// Each pair is cut on one side only: the later member's.
			if d := (i - j + n) % n; j < i && d != 1 && d != n-1 {
				far = append(far, a)
			}
		}
		if len(far) > 0 {
			list = append(list, memberRule{victim{Member: m}, packetRule{Peers: far}})
		}
	}
	return list, nil
}
