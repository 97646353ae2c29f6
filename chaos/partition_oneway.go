package chaos

import (
	"context"
	"fmt"
)

// PartitionOneway drops what goes one way between a member and its peers. Clients
// reach it.
type PartitionOneway struct {
	Member    string    // Leader, Follower, Any or a member's name
	Direction Direction // In: it does not hear its peers; Out: they do not hear it
}

var partitionOneway = Kind{
	Name:   "partition.oneway",
	About:  "drops what goes one way between a member and its peers; clients reach it",
	Needs:  needsNetwork + "; 2 members or more",
	Proof:  "its peers' packets, or its own, are dropped",
	Target: Leader, Aims: memberAims, Members: true,
	Params: []Param{{"direction", "in", "in: it does not hear its peers; out: they do not hear it"}},
	build: func(target string, s settings) Fault {
		return PartitionOneway{Member: target, Direction: Direction(s.choice("direction", string(In), string(Out)))}
	},
}

func (f PartitionOneway) String() string { return partitionOneway.Name }

// Inject implements Fault.
func (f PartitionOneway) Inject(ctx context.Context, t Target) (Effect, error) {
	list, err := fromPeers(ctx, t, f.Member, Rule{Direction: f.Direction})
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return sever(ctx, f, t, list)
}
