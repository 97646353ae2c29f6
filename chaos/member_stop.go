package chaos

import (
	"context"

	"github.com/zkbench/zkbench/ensembles"
)

// memberStop ends a member's process with SIGTERM, as maintenance does. Healing
// starts it again with the same data and address.
type memberStop struct {
	member string // Leader, Follower, Any or a member's name
}

var _ = register(Kind{
	Name:   "member.stop",
	About:  "stops a member's process (SIGTERM), and starts it again to heal",
	Proof:  "the process is gone, and nobody answers srvr",
	Target: Leader, Targets: memberTargets,
	needs: []need{needsProcess},
	build: func(target string, _ settings) injector { return memberStop{member: target} },
})

func (f memberStop) inject(ctx context.Context, t Target) (Effect, error) {
	return downFault(ctx, t, f.member, "stopped", ensembles.Machine.Stop)
}
