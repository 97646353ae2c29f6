package chaos

import (
	"context"
	"fmt"
)

// member.pause freezes a process: its kernel still accepts connections and acknowledges packets,
// but there is no reply. A long garbage collection has the same effect.
var _ = register(Kind{
	Name:   "member.pause",
	About:  "freezes a member's process; its sockets stay open",
	Proof:  "the process runs, and a member that answered srvr does not",
	Target: Leader, Targets: membersTargets,
	needs: []need{needsPause},
	build: func(target string, _ settings) injector { return onMachine(target, pause) },
})

func pause(ctx context.Context, _ Target, v victim) (Effect, error) {
	if err := speaks(ctx, v.Member); err != nil {
		return Effect{}, err
	}
	resume := func(ctx context.Context) error {
		if err := v.Machine.Resume(ctx); err != nil {
			return fmt.Errorf("resume %s: %w", v.Name, err)
		}
		return nil
	}
	return Effect{
		Proof: fmt.Sprintf("%s answered srvr before, and not for %v after it was frozen", v.Name, silenceOf(v.Member)),
		Undo:  resume,
		Back:  func(ctx context.Context) error { return serves(ctx, v.Member) },
	}, act(ctx, v.Machine.Pause, func() error { return silent(ctx, v.Member) }, resume)
}
