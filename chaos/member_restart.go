package chaos

import (
	"context"
	"fmt"
)

// MemberRestart ends a member's process and starts it again at once. It returns
// when the member serves, so there is nothing to heal.
type MemberRestart struct {
	Member string // Leader, Follower, Any or a member's name
	How    string // "stop" (SIGTERM) or "kill" (SIGKILL)
}

var memberRestart = Kind{
	Name:   "member.restart",
	About:  "ends a member's process and starts it again at once",
	Needs:  needsMachine,
	Proof:  "the process was gone, and serves again",
	Target: Leader, Aims: memberAims, Members: true,
	Params: []Param{paramHow},
	build: func(target string, s settings) Fault {
		return MemberRestart{Member: target, How: s.choice("how", "stop", "kill")}
	},
}

func (f MemberRestart) String() string { return memberRestart.Name }

// Inject implements Fault.
func (f MemberRestart) Inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMachine(ctx, t, f.Member)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	took, err := restart(ctx, t, v, f.How)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	return Effect{
		Target: v.String(), Client: -1,
		Proof: fmt.Sprintf("%s was gone (%s), and served again after %v", v.Name, f.How, took),
	}, nil
}
