package chaos

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// MemberKill ends a member's process with SIGKILL: a crash. Healing starts it
// again with the same data and address.
type MemberKill struct {
	Member string // Leader, Follower, Any or a member's name
}

var memberKill = Kind{
	Name:   "member.kill",
	About:  "kills a member's process (SIGKILL), and starts it again to heal",
	Needs:  needsMachine,
	Proof:  "the process is gone, and nobody answers srvr",
	Target: Leader, Aims: memberAims, Members: true,
	build: func(target string, _ settings) Fault { return MemberKill{Member: target} },
}

func (f MemberKill) String() string { return memberKill.Name }

// Inject implements Fault.
func (f MemberKill) Inject(ctx context.Context, t Target) (Effect, error) {
	e, err := downFault(ctx, t, f.Member, "killed", ensembles.Machine.Kill)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}
