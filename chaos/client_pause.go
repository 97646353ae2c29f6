package chaos

import (
	"context"
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/chaos/wire"
)

// client.pause is like a long garbage collection, a hypervisor's or a debugger's stop. Incoming
// data waits in the process's sockets. Fencing protects against a holder that is paused past its
// session timeout.
var _ = register(Kind{
	Name:   "client.pause",
	About:  "stops a client's process (SIGSTOP) and every other client in it until the fault heals (SIGCONT)",
	Proof:  "the kernel shows all threads of the process as stopped, state T",
	Target: Holder, Targets: clientTargets,
	needs: []need{needsTap, needsDriver},
	build: func(target string, _ settings) injector { return onProcess(target, pauseProcess) },
})

func pauseProcess(ctx context.Context, _ Target, _ wire.Client, p Process) (e Effect, err error) {
	e.Undo = func(ctx context.Context) error { return goesOn(ctx, p) }
	err = act(ctx, func(context.Context) error { return p.Pause() }, func() error { e.Proof, err = stopped(ctx, p); return err }, e.Undo)
	return e, err
}

// stopped waits until every thread of the process is stopped.
func stopped(ctx context.Context, p Process) (proof string, err error) {
	err = poll(ctx, signalLimit, func(context.Context) error {
		group, halted := p.Group()
		for _, pid := range group {
			if !slices.Contains(halted, pid) {
				return fmt.Errorf("%w: process %d still runs", ErrNoEffect, pid)
			}
		}
		if len(group) == 0 {
			return fmt.Errorf("%w: process %d has ended", ErrNoEffect, p.PID())
		}
		proof = fmt.Sprintf("SIGSTOP, and the kernel shows state T for every thread of process %d (%d in its group)", p.PID(), len(group))
		return nil
	})
	return proof, err
}

// goesOn continues a process, and waits until no part of it is stopped.
func goesOn(ctx context.Context, p Process) error {
	if err := p.Resume(); err != nil {
		return err
	}
	return poll(ctx, signalLimit, func(context.Context) error {
		if _, halted := p.Group(); len(halted) > 0 {
			return fmt.Errorf("process %d is still stopped after SIGCONT", halted[0])
		}
		return nil
	})
}
