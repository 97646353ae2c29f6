package chaos

import (
	"context"

	"github.com/zkbench/zkbench/ensembles"
)

// linkLoss drops a share of a member's packets, both ways, except on loopback.
// Which ones is the kernel's choice, not the seed's.
type linkLoss struct {
	member  string  // Leader, Follower, Any or a member's name
	percent float64 // of the packets
}

var _ = register(Kind{
	Name:   "link.loss",
	About:  "drops a share of a member's packets, both ways",
	Proof:  "packets to or from it were dropped",
	Target: Follower, Targets: memberTargets,
	Params: []Param{{"percent", "5", "the share; more than 0, at most 100"}},
	needs:  []need{needsNetwork},
	build: func(target string, s settings) injector {
		return linkLoss{member: target, percent: s.positive("percent", 100)}
	},
})

func (f linkLoss) inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMember(ctx, t, f.member)
	if err != nil {
		return Effect{}, err
	}
	e, err := cutSome(ctx, t, v, packetRule{Loss: f.percent}, func(ctx context.Context, m *ensembles.Member) {
		reachable(ctx, m, silence)
	})
	if err != nil {
		return Effect{}, err
	}
	return e, nil
}
