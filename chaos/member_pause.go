package chaos

import (
	"context"
	"fmt"
)

// MemberPause freezes a member's process: its kernel still accepts connections and
// acknowledges packets, and nobody is at home. A long garbage collection looks so.
type MemberPause struct {
	Member string // Leader, Follower, Any or a member's name
}

var memberPause = Kind{
	Name:   "member.pause",
	About:  "freezes a member's process; its sockets stay open",
	Needs:  needsMachine,
	Proof:  "the process runs, and a member that answered srvr does not",
	Target: Leader, Aims: memberAims, Members: true,
	build: func(target string, _ settings) Fault { return MemberPause{Member: target} },
}

func (f MemberPause) String() string { return memberPause.Name }

// Inject implements Fault.
func (f MemberPause) Inject(ctx context.Context, t Target) (Effect, error) {
	v, err := pickMachine(ctx, t, f.Member)
	if err == nil {
		err = speaks(ctx, v.Member)
	}
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
	}
	err = act(ctx, v.Machine.Pause, func() error { return silent(ctx, v.Member) }, v.Machine.Resume)
	if err != nil {
		return Effect{}, fmt.Errorf("%s: %w", f, err)
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
