package chaos

import (
	"context"
	"fmt"

	"github.com/zkbench/zkbench/ensembles"
)

// MemberStop ends a member's process with SIGTERM, as maintenance does. Healing
// starts it again with the same data and address.
type MemberStop struct {
	Member string // Leader, Follower, Any or a member's name
}

var memberStop = Kind{
	Name:   "member.stop",
	About:  "stops a member's process (SIGTERM), and starts it again to heal",
	Needs:  needsMachine,
	Proof:  "the process is gone, and nobody answers srvr",
	Target: Leader, Aims: memberAims, Members: true,
	build: func(target string, _ settings) Fault { return MemberStop{Member: target} },
}

func (f MemberStop) String() string { return memberStop.Name }

// Inject implements Fault.
func (f MemberStop) Inject(ctx context.Context, t Target) (Effect, error) {
	e, err := downFault(ctx, t, f.Member, "stopped", ensembles.Machine.Stop)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return e, nil
}
