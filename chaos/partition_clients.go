package chaos

import (
	"context"
)

// partitionClients cuts a member off from all but its peers: the ensemble is whole,
// and clients have to find another member.
type partitionClients struct {
	member string // Leader, Follower, Any or a member's name
}

var _ = register(Kind{
	Name:   "partition.clients",
	About:  "cuts a member off from all clients; its peers reach it",
	Proof:  "clients' packets are dropped, and a member that answered srvr does not",
	Target: Leader, Targets: memberTargets,
	needs: []need{needsNetwork},
	build: func(target string, _ settings) injector { return partitionClients{member: target} },
})

func (f partitionClients) inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMember(ctx, t, f.member)
	if err != nil {
		return Effect{}, err
	}
	spared, err := peers(t.Ensemble, v.Member)
	if err != nil {
		return Effect{}, err
	}
	e, _, err := cutOff(ctx, t, v, packetRule{Except: spared})
	if err != nil {
		return Effect{}, err
	}
	return e, nil
}
