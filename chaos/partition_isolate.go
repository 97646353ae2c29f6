package chaos

import (
	"context"
	"fmt"
)

// PartitionIsolate cuts one member off from everyone: its peers, its clients, and
// us. It keeps running, keeps its sockets, and hears nothing.
type PartitionIsolate struct {
	Member string // Leader, Follower, Any or a member's name
}

var partitionIsolate = Kind{
	Name:   "partition.isolate",
	About:  "cuts one member off from everyone: its peers, its clients and us",
	Needs:  needsNetwork,
	Proof:  "its packets are dropped, and a member that answered srvr does not",
	Target: Leader, Aims: memberAims, Members: true,
	build: func(target string, _ settings) Fault { return PartitionIsolate{Member: target} },
}

func (f PartitionIsolate) String() string { return "partition.isolate" }

// Inject implements Fault.
func (f PartitionIsolate) Inject(ctx context.Context, t Target) (Effect, error) {
	e, _, _, err := isolate(ctx, t, f.Member)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}

func isolate(ctx context.Context, t Target, who string) (Effect, *partition, victim, error) {
	v, err := pickMember(ctx, t, who)
	if err != nil {
		return Effect{}, nil, v, err
	}
	e, p, err := muffle(ctx, t, v, Rule{})
	return e, p, v, err
}
