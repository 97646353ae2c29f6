package chaos

import (
	"context"
	"fmt"
)

// PartitionClients cuts a member off from all but its peers: the ensemble is whole,
// and clients have to find another member.
type PartitionClients struct {
	Member string // Leader, Follower, Any or a member's name
}

var partitionClients = Kind{
	Name:   "partition.clients",
	About:  "cuts a member off from all clients; its peers reach it",
	Needs:  needsNetwork,
	Proof:  "clients' packets are dropped, and a member that answered srvr does not",
	Target: Leader, Aims: memberAims, Members: true,
	build: func(target string, _ settings) Fault { return PartitionClients{Member: target} },
}

func (f PartitionClients) String() string { return partitionClients.Name }

// Inject implements Fault.
func (f PartitionClients) Inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMember(ctx, t, f.Member)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	spared, err := peers(t.Ensemble, v.Member)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	e, _, err := muffle(ctx, t, v, Rule{Except: spared})
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}
