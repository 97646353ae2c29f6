package chaos

import (
	"context"
	"fmt"
)

// memberPause freezes a member's process: its kernel still accepts connections and
// acknowledges packets, and nobody answers. A long garbage collection does the same.
type memberPause struct {
	member string // Leader, Follower, Any or a member's name
}

var _ = register(Kind{
	Name:   "member.pause",
	About:  "freezes a member's process; its sockets stay open",
	Proof:  "the process runs, and a member that answered srvr does not",
	Target: Leader, Targets: memberTargets,
	needs: []need{needsProcess},
	build: func(target string, _ settings) injector { return memberPause{member: target} },
})

func (f memberPause) inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMachine(ctx, t, f.member)
	if err == nil {
		err = speaks(ctx, v.Member)
	}
	if err != nil {
		return Effect{}, err
	}
	err = act(ctx, v.Machine.Pause, func() error { return silent(ctx, v.Member) }, v.Machine.Resume)
	if err != nil {
		return Effect{}, err
	}
	return Effect{
		Target: v.String(), Client: -1,
		Proof: fmt.Sprintf("%s answered srvr before, and not for %v after it was frozen", v.Name, silence),
		Undo: func(ctx context.Context) error {
			if err := v.Machine.Resume(ctx); err != nil {
				return fmt.Errorf("resume %s: %w", v.Name, err)
			}
			return nil
		},
		Back: func(ctx context.Context) error { return serves(ctx, v.Member) },
	}, nil
}
