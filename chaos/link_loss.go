package chaos

import (
	"context"

	"github.com/zkbench/zkbench/ensembles"
)

// link.loss does not affect loopback. The kernel chooses the packets, not the seed.
var _ = register(Kind{
	Name:   "link.loss",
	About:  "drops a share of a member's packets, both ways",
	Proof:  "packets to or from it were dropped",
	Target: Follower, Targets: membersTargets,
	Params: []Param{{"percent", "5", "the share; more than 0, at most 100"}},
	needs:  []need{needsPackets},
	build: func(target string, s settings) injector {
		return cutsSome(target, packetRule{Loss: s.positive("percent", 100)}, func(ctx context.Context, m *ensembles.Member) {
			reachable(ctx, m, silence)
		})
	},
})
