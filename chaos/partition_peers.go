package chaos

import (
	"context"
	"fmt"
)

// PartitionPeers cuts a member off from its peers, both ways. Clients reach it, and
// find a server without a quorum.
type PartitionPeers struct {
	Member string // Leader, Follower, Any or a member's name
}

var partitionPeers = Kind{
	Name:   "partition.peers",
	About:  "cuts a member off from its peers; clients reach it",
	Needs:  needsNetwork + "; 2 members or more",
	Proof:  "packets between it and its peers are dropped",
	Target: Leader, Aims: memberAims, Members: true,
	build: func(target string, _ settings) Fault { return PartitionPeers{Member: target} },
}

func (f PartitionPeers) String() string { return partitionPeers.Name }

// Inject implements Fault.
func (f PartitionPeers) Inject(ctx context.Context, t Target) (Effect, error) {
	list, err := fromPeers(ctx, t, f.Member, Rule{})
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return sever(ctx, f, t, list)
}
