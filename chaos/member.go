package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
)

const undoLimit = time.Minute

// inject is injectAndProve with e.Undo. It sets the effect's proof.
func (e Effect) inject(ctx context.Context, do func(context.Context) error, proof func() (string, error)) (Effect, error) {
	err := injectAndProve(ctx, do, func() (err error) { e.Proof, err = proof(); return err }, e.Undo)
	return e, err
}

// injectAndProve calls do, unless it is nil, and then proof. If either fails or panics, or the context ends,
// it calls undo, unless that is nil.
func injectAndProve(ctx context.Context, do func(context.Context) error, proof func() error, undo func(context.Context) error) (err error) {
	proven := false
	defer func() {
		if proven || undo == nil {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		defer cancel()
		if left := undo(ctx); left != nil && !errors.Is(left, network.ErrVanished) {
			err = errors.Join(err, fmt.Errorf("%w: %w", ErrNotHealed, left))
		}
	}()
	if do != nil {
		err = do(ctx)
	}
	if err == nil {
		err = proof()
	}
	proven = err == nil
	return err
}

// takeDown stops a member's process with end, and proves that the process has ended. If the context ends
// in the meantime, the stop may still take effect: undoing waits for it.
func takeDown(ctx context.Context, v targetMember, end func(context.Context) error) error {
	return injectAndProve(ctx, end, func() error {
		running, err := v.Machine.Running(ctx)
		if err == nil && running {
			err = fmt.Errorf("%w: %s is still running", ErrNoEffect, v.Name)
		}
		if err != nil {
			return err
		}
		return checkSilent(ctx, v.Member)
	}, func(ctx context.Context) error {
		_ = end(ctx) // may fail if the process has stopped
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s may still be stopping: %w", v.Name, err)
		}
		return startAgain(ctx, v)
	})
}

func startAgain(ctx context.Context, v targetMember) error {
	running, err := v.Machine.Running(ctx)
	if err == nil && !running {
		err = v.Machine.Start(ctx)
	}
	return err
}

func awaitRecovered(ctx context.Context, t Target, v targetMember) error {
	if err := awaitServing(ctx, v.Member); err != nil {
		return err
	}
	if t.Network != nil {
		// A container has a new network now. Opening it here saves the next cut that time. The next
		// cut returns the error, if any.
		_ = t.Network.Prepare(ctx, v.Member)
	}
	return nil
}

// machineFault returns the fault, restricted to members that zkbench can stop and start.
func machineFault(inject memberFault) memberFault {
	return func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		if v.Machine == nil {
			return Effect{}, fmt.Errorf("%w: %s: %w", ErrSkipped, v.Name, ensembles.ErrNotOurs)
		}
		return inject(ctx, t, v)
	}
}

func takeDownFault(how string, end func(ensembles.Machine, context.Context) error) memberFault {
	return machineFault(func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		begin := time.Now()
		err := takeDown(ctx, v, func(ctx context.Context) error { return end(v.Machine, ctx) })
		return Effect{
			Proof:         fmt.Sprintf("%s, its process had ended after %v, and it does not answer srvr", how, time.Since(begin).Round(time.Millisecond)),
			Undo:          func(ctx context.Context) error { return startAgain(ctx, v) },
			AwaitRecovery: func(ctx context.Context) error { return awaitRecovered(ctx, t, v) },
		}, err
	})
}

func restart(ctx context.Context, t Target, v targetMember) (proof string, err error) {
	return restartChanged(ctx, t, v, func(context.Context) error { return nil })
}

func restartChanged(ctx context.Context, t Target, v targetMember, change func(context.Context) error) (proof string, err error) {
	begin := time.Now()
	err = changeStopped(ctx, t, v, change)
	return fmt.Sprintf("%s was down, and served again after %v", v.Name, time.Since(begin).Round(time.Millisecond)), err
}

func changeStopped(ctx context.Context, t Target, v targetMember, change func(context.Context) error) error {
	if err := takeDown(ctx, v, v.Machine.Stop); err != nil {
		return err
	}
	start := func(ctx context.Context) error { return startAgain(ctx, v) }
	return injectAndProve(ctx, func(ctx context.Context) error { return errors.Join(change(ctx), start(ctx)) },
		func() error { return awaitRecovered(ctx, t, v) }, start)
}

var _ = register(Kind{
	Name:     "member.kill",
	About:    "kills a member's process (SIGKILL), and starts it again to heal",
	Proof:    "the process has ended, and the member does not answer srvr",
	needs:    []need{needsKill},
	onMember: fixed(takeDownFault("killed", ensembles.Machine.Kill)),
})

var _ = register(Kind{
	Name:     "member.stop",
	About:    "stops a member's process (SIGTERM), and starts it again to heal",
	Proof:    "the process has ended, and the member does not answer srvr",
	needs:    []need{needsProcess},
	onMember: fixed(takeDownFault("stopped", ensembles.Machine.Stop)),
})

var _ = register(Kind{
	Name:     "member.restart",
	About:    "stops a member's process (SIGTERM) and starts it again at once",
	Proof:    "the process ended, and the member serves again",
	needs:    []need{needsProcess},
	onMember: fixed(single(restart)),
})

// member.pause freezes a process: its kernel still accepts connections and acknowledges packets,
// but there is no reply. A long garbage collection has the same effect.
var _ = register(Kind{
	Name:     "member.pause",
	About:    "freezes a member's process; its sockets stay open",
	Proof:    "the process exists, and the member answered srvr before the fault but not after it",
	needs:    []need{needsPause},
	onMember: fixed(machineFault(pause)),
})

func pause(ctx context.Context, _ Target, v targetMember) (Effect, error) {
	if err := awaitResponsive(ctx, v.Member); err != nil {
		return Effect{}, err
	}
	return Effect{
		Proof:         fmt.Sprintf("%s answered srvr before the fault, and did not answer for %v after it was frozen", v.Name, silenceOf(v.Member)),
		Undo:          v.Machine.Resume,
		AwaitRecovery: func(ctx context.Context) error { return awaitServing(ctx, v.Member) },
	}, injectAndProve(ctx, v.Machine.Pause, func() error { return checkSilent(ctx, v.Member) }, v.Machine.Resume)
}

// member.rolling is a rolling restart: each member serves before the next one stops.
var _ = register(Kind{
	Name:  "member.rolling",
	About: "restarts all members, one after the other, the leader last",
	Proof: "each process ended, and the member served again before the next one stopped",
	needs: []need{needsProcess},
	build: func(string, settings) injector { return memberInjector(Leader, oneByOne(restart)) },
})

// momentary is a fault of one member that heals itself. It returns its proof.
type momentary func(context.Context, Target, targetMember) (proof string, err error)

func single(one momentary) memberFault {
	return machineFault(func(ctx context.Context, t Target, v targetMember) (Effect, error) {
		proof, err := one(ctx, t, v)
		return Effect{Proof: proof}, err
	})
}

// oneByOne returns a fault of all members, the leader last. All serve before the next is affected.
func oneByOne(one momentary) memberFault {
	return machineFault(func(ctx context.Context, t Target, leader targetMember) (Effect, error) {
		var proofs, targets []string
		for _, m := range append(others(t.Ensemble, leader.Member), leader.Member) {
			proven, err := one(ctx, t, targetMember{Member: m})
			if err == nil {
				err = allServe(ctx, t.Ensemble)
			}
			if err != nil {
				return Effect{}, err
			}
			proofs, targets = append(proofs, proven), append(targets, m.Name)
		}
		return Effect{Target: strings.Join(targets, ", "), Proof: strings.Join(proofs, "; ")}, nil
	})
}

func allServe(ctx context.Context, e *ensembles.Ensemble) error {
	ctx, cancel := context.WithTimeoutCause(ctx, returnLimit, fmt.Errorf("timed out after %v", returnLimit))
	defer cancel()
	if err := ensembles.WaitServing(ctx, e); err != nil {
		return errors.Join(ErrNoEffect, err)
	}
	return nil
}
