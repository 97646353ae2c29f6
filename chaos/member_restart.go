package chaos

import (
	"context"
	"fmt"
)

// member.restart returns when the member serves again; there is nothing to heal.
var _ = register(Kind{
	Name:   "member.restart",
	About:  "ends a member's process and starts it again at once",
	Proof:  "the process was gone, and serves again",
	Target: Leader, Targets: membersTargets,
	Params: []Param{paramHow},
	needs:  []need{needsProcess},
	build: func(target string, s settings) injector {
		how := s.choice("how", "stop", "kill")
		return onMachine(target, func(ctx context.Context, t Target, v victim) (Effect, error) {
			took, err := restart(ctx, t, v, how)
			return Effect{Proof: fmt.Sprintf("%s was gone (%s), and served again after %v", v.Name, how, took)}, err
		})
	},
})
