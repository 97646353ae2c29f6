package chaos

import (
	"context"

	"github.com/zkbench/zkbench/ensembles"
)

// memberKill ends a member's process with SIGKILL: a crash. Healing starts it
// again with the same data and address.
type memberKill struct {
	member string // Leader, Follower, Any or a member's name
}

var _ = register(Kind{
	Name:   "member.kill",
	About:  "kills a member's process (SIGKILL), and starts it again to heal",
	Proof:  "the process is gone, and nobody answers srvr",
	Target: Leader, Targets: memberTargets,
	needs: []need{needsProcess},
	build: func(target string, _ settings) injector { return memberKill{member: target} },
})

func (f memberKill) inject(ctx context.Context, t Target) (Effect, error) {
	return downFault(ctx, t, f.member, "killed", ensembles.Machine.Kill)
}
