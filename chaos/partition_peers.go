package chaos

import (
	"context"
)

// partitionPeers cuts a member off from its peers, both ways. Clients reach it, and
// find a server without a quorum.
type partitionPeers struct {
	member string // Leader, Follower, Any or a member's name
}

var _ = register(Kind{
	Name:   "partition.peers",
	About:  "cuts a member off from its peers; clients reach it",
	Proof:  "packets between it and its peers are dropped",
	Target: Leader, Targets: memberTargets,
	needs: []need{needsNetwork, {about: "2 members or more"}},
	build: func(target string, _ settings) injector { return partitionPeers{member: target} },
})

func (f partitionPeers) inject(ctx context.Context, t Target) (Effect, error) {
	list, err := fromPeers(ctx, t, f.member, packetRule{})
	if err != nil {
		return Effect{}, err
	}
	return cutPeers(ctx, t, list)
}
