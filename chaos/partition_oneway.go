package chaos

import (
	"context"
)

// partitionOneway drops what goes one way between a member and its peers. Clients
// reach it.
type partitionOneway struct {
	member    string    // Leader, Follower, Any or a member's name
	direction direction // inOnly: what its peers send is dropped; outOnly: what it sends
}

var _ = register(Kind{
	Name:   "partition.oneway",
	About:  "drops what goes one way between a member and its peers; clients reach it",
	Proof:  "its peers' packets, or its own, are dropped",
	Target: Leader, Targets: memberTargets,
	Params: []Param{{"direction", "in", "in: it does not hear its peers; out: they do not hear it"}},
	needs:  []need{needsNetwork, {about: "2 members or more"}},
	build: func(target string, s settings) injector {
		return partitionOneway{member: target, direction: direction(s.choice("direction", string(inOnly), string(outOnly)))}
	},
})

func (f partitionOneway) inject(ctx context.Context, t Target) (Effect, error) {
	list, err := fromPeers(ctx, t, f.member, packetRule{Direction: f.direction})
	if err != nil {
		return Effect{}, err
	}
	return cutPeers(ctx, t, list)
}
