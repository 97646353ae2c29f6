package chaos

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// PartitionSplit parts the members into a minority and a majority that do not hear
// each other. Clients reach both, which is how a client can talk to a member that
// no longer has a quorum.
type PartitionSplit struct {
	Member string // is in the minority: Leader, Follower, Any or a member's name
	Size   int    // of the minority; 0: as many as make a minority
}

var partitionSplit = Kind{
	Name:   "partition.split",
	About:  "parts the members into a minority, with the target, and a majority; clients reach both",
	Needs:  needsNetwork + "; 3 members",
	Proof:  "packets between the sides are dropped",
	Target: Leader, Aims: memberAims, Members: true,
	Params: []Param{{"size", "0", "members in the minority; 0: as many as make a minority"}},
	build: func(target string, s settings) Fault {
		return PartitionSplit{Member: target, Size: s.number("size", 0, 100)}
	},
}

func (f PartitionSplit) String() string { return partitionSplit.Name }

// Inject implements Fault.
func (f PartitionSplit) Inject(ctx context.Context, t Target) (Effect, error) {
	list, err := f.sides(ctx, t)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return sever(ctx, f, t, list)
}

// sides decides who is in the minority: the target, and others by the seed.
func (f PartitionSplit) sides(ctx context.Context, t Target) ([]incision, error) {
	size := f.Size
	if size == 0 {
		size = (len(t.Ensemble.Members) - 1) / 2
	}
	if size == 0 || 2*size >= len(t.Ensemble.Members) {
		return nil, fmt.Errorf("%w: %d of %d members are no minority; use more members or a smaller size", ErrSkipped, size, len(t.Ensemble.Members))
	}
	v, err := pickMember(ctx, t, f.Member)
	if err != nil {
		return nil, err
	}
	minority := []victim{v}
	var majority []*ensembles.Member
	for _, m := range t.Ensemble.Members {
		if m != v.Member {
			majority = append(majority, m)
		}
	}
	for len(minority) < size {
		i := t.random(len(majority))
		minority = append(minority, victim{Member: majority[i]})
		majority = append(majority[:i:i], majority[i+1:]...)
	}
	others, err := ips(majority)
	var list []incision
	for _, v := range minority {
		list = append(list, incision{v, Rule{Peers: others}})
	}
	return list, err
}
