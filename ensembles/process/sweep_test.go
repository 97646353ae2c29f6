//go:build linux

package process

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/state"
)

func TestSweep_removesWhatDeadOwnersLeft(t *testing.T) {
	t.Run("an ensemble whose owner was killed is removed, one whose owner lives is not", func(t *testing.T) {
		owner, id := startOwner(t, "run")
		r := recorded(t, id)
		removed, err := Sweep(context.Background(), true)
		check.OK(t, err)
		if len(removed) != 0 || len(state.FindAll(ensembleArg(id))) != 3 {
			t.Fatalf("a living owner's ensemble was touched: %q", removed)
		}

		check.OK(t, owner.Process.Kill())
		_ = owner.Wait() // its error is that it was killed
		// The JVMs die with their owner, before anybody sweeps.
		check.Eventually(t, "the JVMs are gone", func() bool { return len(state.FindAll(ensembleArg(id))) == 0 })
		removed, err = Sweep(context.Background(), false)
		check.OK(t, err)
		if len(removed) != 1 || !strings.Contains(removed[0], id) {
			t.Errorf("removed %q", removed)
		}
		nothingLeft(t, r)
	})
}

func TestSweep_sparesKeptOnes(t *testing.T) {
	t.Run("a kept ensemble outlives its owner, is attached, restarted, and goes with all", func(t *testing.T) {
		owner, id := startOwner(t, "keep")
		check.OK(t, owner.Wait())
		r := recorded(t, id)
		removed, err := Sweep(context.Background(), false)
		check.OK(t, err)
		if len(removed) != 0 {
			t.Fatalf("a kept ensemble was swept: %q", removed)
		}

		ctx := check.Within(t, time.Minute)
		e, err := Attach(ctx, r)
		check.OK(t, err)
		awaitMode(t, e.Members[0], "leader", "follower")
		check.OK(t, e.Members[0].Machine.Kill(ctx))
		check.OK(t, e.Members[0].Machine.Start(ctx))
		awaitMode(t, e.Members[0], "leader", "follower")
		if e.Version != r.Version || e.Tick != 2*time.Second {
			t.Errorf("attached to version %q, tick %v", e.Version, e.Tick)
		}
		removed, err = Sweep(ctx, true)
		check.OK(t, err)
		if len(removed) != 0 {
			t.Errorf("an ensemble that we have attached to was swept: %q", removed)
		}
		check.OK(t, e.Down(ctx))
		check.OK(t, e.Down(ctx))
		awaitMode(t, e.Members[0], "leader", "follower") // Down only let go

		removed, err = Sweep(context.Background(), true)
		check.OK(t, err)
		if len(removed) != 1 {
			t.Errorf("removed %q", removed)
		}
		nothingLeft(t, r)
	})

	t.Run("a kept ensemble whose members are all dead is removed", func(t *testing.T) {
		owner, id := startOwner(t, "keep")
		check.OK(t, owner.Wait())
		ctx := check.Within(t, time.Minute)
		r := recorded(t, id)
		e, err := Attach(ctx, r)
		check.OK(t, err)
		for _, m := range e.Members {
			check.OK(t, m.Machine.Kill(ctx))
		}
		check.OK(t, e.Down(ctx))
		removed, err := Sweep(ctx, false)
		check.OK(t, err)
		if len(removed) != 1 {
			t.Errorf("removed %q", removed)
		}
	})
}
