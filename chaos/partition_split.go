package chaos

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

// partition.split divides the members. Clients reach both sides, so a client can be connected to a
// member without a quorum.
var _ = register(Kind{
	Name:    "partition.split",
	About:   "splits the members into a minority, which includes the target, and a majority; clients reach both",
	Proof:   "packets between the sides are dropped",
	Targets: memberTargets,
	needs:   []need{needsPeers, {about: "3 members"}},
	onMember: fixed(func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		list, err := minority(t, v)
		if err != nil {
			return Effect{}, err
		}
		return cutPeers(ctx, t, list)
	}),
})

// minority returns the rules that separate the largest minority that includes the member from the others.
func minority(t Target, v targetMember) ([]memberRule, error) {
	size := tolerableLosses(t.Ensemble)
	if size == 0 {
		return nil, fmt.Errorf("%w: %d members have no minority: use --members 3", ErrSkipped, len(t.Ensemble.Voting()))
	}
	list, majority := []memberRule{{targetMember: v}}, others(t.Ensemble, v.Member)
	if v.Observer {
		size++
	}
	for len(list) < size {
		voting := slices.DeleteFunc(slices.Clone(majority), func(m *ensembles.Member) bool { return m.Observer })
		m := voting[t.random(len(voting))]
		list = append(list, memberRule{targetMember: targetMember{Member: m}})
		majority = slices.DeleteFunc(majority, func(o *ensembles.Member) bool { return o == m })
	}
	rest, err := ips(majority)
	for i := range list {
		list[i].rule.Peers = rest
	}
	return list, err
}

// partition.ring orders the voting members by ID: each reaches only its two neighbours, so no two members
// reach the same set. With five members, each still reaches a majority. All members reach the observers.
var _ = register(Kind{
	Name:  "partition.ring",
	About: "lets each voting member reach only its two neighbours: the majorities overlap and differ",
	Proof: "packets between the leader and the members that are not its neighbours are dropped",
	needs: []need{needsPeers, {about: "4 members or more", checkEnsemble: checkRing}},
	build: func(string, settings) injector { return partitionRing },
})

func partitionRing(ctx context.Context, t Target) (Effect, error) {
	if err := checkRing(ctx, t); err != nil { // before waiting for a leader
		return Effect{}, err
	}
	return memberInjector(Leader, func(ctx context.Context, t Target, leader targetMember) (Effect, error) {
		list, err := ring(t.Ensemble, leader.Member)
		if err != nil {
			return Effect{}, err
		}
		e, err := cutPeers(ctx, t, list)
		var all []memberRule
		for _, m := range t.Ensemble.Voting() {
			all = append(all, memberRule{targetMember: targetMember{Member: m}})
		}
		e.Target, e.ServedClients = names(all), servedBy(t, all)
		return e, err
	})(ctx, t)
}

func checkRing(_ context.Context, t Target) error {
	_, err := ring(t.Ensemble, nil)
	return err
}

// ring returns the rules by which members drop packets. Each pair is cut on one side only: at the later
// member, but not at the leader, whose packets prove the cut.
func ring(e *ensembles.Ensemble, leader *ensembles.Member) ([]memberRule, error) {
	voting := e.Voting()
	n := len(voting)
	if n < 4 {
		return nil, fmt.Errorf("%w: in a ring of %d members, all members are neighbours of each other: use --members 5", ErrSkipped, n)
	}
	all, err := ips(voting)
	if err != nil {
		return nil, err
	}
	var list []memberRule
	for i, m := range voting {
		var far []netip.Addr
		for j, a := range all {
			cuts := j < i && m != leader || voting[j] == leader
			if d := (i - j + n) % n; cuts && d > 1 && d < n-1 {
				far = append(far, a)
			}
		}
		if len(far) > 0 {
			list = append(list, memberRule{targetMember{Member: m}, network.Rule{Peers: far}})
		}
	}
	return list, nil
}
