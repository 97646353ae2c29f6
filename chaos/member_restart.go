package chaos

import (
	"context"
	"fmt"
)

// memberRestart ends a member's process and starts it again at once. It returns
// when the member serves, so there is nothing to heal.
type memberRestart struct {
	member string // Leader, Follower, Any or a member's name
	how    string // "stop" (SIGTERM) or "kill" (SIGKILL)
}

var _ = register(Kind{
	Name:   "member.restart",
	About:  "ends a member's process and starts it again at once",
	Proof:  "the process was gone, and serves again",
	Target: Leader, Targets: memberTargets,
	Params: []Param{paramHow},
	needs:  []need{needsProcess},
	build: func(target string, s settings) injector {
		return memberRestart{member: target, how: s.choice("how", "stop", "kill")}
	},
})

func (f memberRestart) inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMachine(ctx, t, f.member)
	if err != nil {
		return Effect{}, err
	}
	took, err := restart(ctx, t, v, f.how)
	if err != nil {
		return Effect{}, err
	}
	return Effect{
		Target: v.String(), Client: -1,
		Proof: fmt.Sprintf("%s was gone (%s), and served again after %v", v.Name, f.how, took),
	}, nil
}
