package chaos

import (
	"context"

	"github.com/zkbench/zkbench/chaos/wire"
)

// client.kill is the crash of a client. Its session lives until it expires.
var _ = register(Kind{
	Name:   "client.kill",
	About:  "kills a client's process (SIGKILL) and every other client in it; they may return when the fault heals",
	Proof:  "the process and all processes that it started have ended",
	Target: Holder, Targets: clientTargets,
	needs: []need{needsTap, needsDriver},
	build: func(target string, _ settings) injector {
		return onProcess(target, func(ctx context.Context, _ Target, _ wire.Client, p Process) (e Effect, err error) {
			e.Undo = func(context.Context) error { p.Replace(); return nil }
			err = act(ctx, nil, func() error { e.Proof, err = killed(ctx, p); return err }, e.Undo)
			return e, err
		})
	},
})
