package chaos

import (
	"context"

	"github.com/zkbench/zkbench/ensembles"
)

// link.loss spares loopback. Which packets it drops is the kernel's choice, not the
// seed's.
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
