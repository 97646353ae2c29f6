package chaos

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkbench/zkbench/ensembles"
)

// undoLimit bounds the undoing of a fault whose injection failed.
const undoLimit = time.Minute

// act calls do, unless it is nil, and then proof. If either fails, the context ends or it panics,
// act calls undo.
func act(ctx context.Context, do func(context.Context) error, proof func() error, undo func(context.Context) error) (err error) {
	proven := false
	defer func() {
		if proven {
			return
		}
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), undoLimit)
		defer cancel()
		if left := undo(ctx); left != nil && !errors.Is(left, errVanished) {
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

// takeDown stops a member's process with end, and proves that it has ended. If the context ends
// in the meantime, the stop may still take effect: undoing waits for it.
func takeDown(ctx context.Context, v victim, end func(context.Context) error) error {
	return act(ctx, end, func() error {
		running, err := v.Machine.Running(ctx)
		if err == nil && running {
			err = fmt.Errorf("%w: %s still runs", ErrNoEffect, v.Name)
		}
		if err != nil {
			return err
		}
		return silent(ctx, v.Member)
	}, func(ctx context.Context) error {
		_ = end(ctx) // may fail if it has stopped
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("%s may still be ending: %w", v.Name, err)
		}
		return startAgain(ctx, v)
	})
}

// startAgain starts a member's process unless it runs.
func startAgain(ctx context.Context, v victim) error {
	running, err := v.Machine.Running(ctx)
	if err == nil && !running {
		err = v.Machine.Start(ctx)
	}
	if err != nil {
		return fmt.Errorf("start %s again: %w", v.Name, err)
	}
	return nil
}

// back waits until a restarted member serves.
func back(ctx context.Context, t Target, v victim) error {
	if err := serves(ctx, v.Member); err != nil {
		return err
	}
	if t.Network != nil {
		// A container has a new network now. Opening it takes time, which the next cut should not
		// lose. That cut returns the error, if any.
		_, _ = t.Network.access(ctx, v.Member)
	}
	return nil
}

// takesDown makes a fault that stops a member's process with end, named by how.
func takesDown(who, how string, end func(ensembles.Machine, context.Context) error) injector {
	return onMachine(who, func(ctx context.Context, t Target, v victim) (Effect, error) {
		begin := time.Now()
		err := takeDown(ctx, v, func(ctx context.Context) error { return end(v.Machine, ctx) })
		return Effect{
			Proof: fmt.Sprintf("%s, its process had ended after %v, and srvr gets no answer", how, time.Since(begin).Round(time.Millisecond)),
			Undo:  func(ctx context.Context) error { return startAgain(ctx, v) },
			Back:  func(ctx context.Context) error { return back(ctx, t, v) },
		}, err
	})
}

// restart stops a member's process and starts it again. It returns how long the member did not
// serve.
func restart(ctx context.Context, t Target, v victim, how string) (time.Duration, error) {
	end := v.Machine.Stop
	if how == "kill" {
		end = v.Machine.Kill
	}
	begin := time.Now()
	if err := takeDown(ctx, v, end); err != nil {
		return 0, err
	}
	start := func(ctx context.Context) error { return startAgain(ctx, v) }
	err := act(ctx, start, func() error { return back(ctx, t, v) }, start)
	return time.Since(begin).Round(time.Millisecond), err
}

// paramHow selects how a member's process is stopped.
var paramHow = Param{"how", "stop", "stop (SIGTERM) or kill (SIGKILL)"}
