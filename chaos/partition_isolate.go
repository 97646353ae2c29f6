package chaos

import (
	"context"
)

// partitionIsolate cuts one member off from everyone: its peers, its clients, and
// us. It keeps running, keeps its sockets, and receives nothing.
type partitionIsolate struct {
	member string // Leader, Follower, Any or a member's name
}

var _ = register(Kind{
	Name:   "partition.isolate",
	About:  "cuts one member off from everyone: its peers, its clients and us",
	Proof:  "its packets are dropped, and a member that answered srvr does not",
	Target: Leader, Targets: memberTargets,
	needs: []need{needsNetwork},
	build: func(target string, _ settings) injector { return partitionIsolate{member: target} },
})

func (f partitionIsolate) inject(ctx context.Context, t Target) (Effect, error) {
	e, _, _, err := isolate(ctx, t, f.member)
	if err != nil {
		return Effect{}, err
	}
	return e, nil
}

func isolate(ctx context.Context, t Target, who string) (Effect, *partition, victim, error) {
	v, err := pickMember(ctx, t, who)
	if err != nil {
		return Effect{}, nil, v, err
	}
	e, p, err := cutOff(ctx, t, v, packetRule{})
	return e, p, v, err
}
