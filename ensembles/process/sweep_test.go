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

// swept sweeps, and requires that exactly these ensembles are removed.
func swept(t *testing.T, all bool, ids ...string) {
	t.Helper()
	removed, err := Sweep(context.Background(), all)
	check.OK(t, err)
	if len(removed) != len(ids) {
		t.Fatalf("removed %q, want %q", removed, ids)
	}
	check.Contains(t, strings.Join(removed, "\n"), ids...)
}

func TestSweep_removesWhatDeadOwnersLeft(t *testing.T) {
	owner, r := startOwner(t, "run")
	swept(t, true) // the owner lives
	if n := len(state.FindAll(ensembleArg(r.ID))); n != 2 {
		t.Fatalf("%d JVMs of a living owner's ensemble are left of 2", n)
	}
	check.OK(t, owner.Process.Kill())
	_ = owner.Wait() // its error is that it was killed
	// The JVMs die with their owner, before anybody sweeps.
	check.Eventually(t, "the JVMs are gone", func() bool { return len(state.FindAll(ensembleArg(r.ID))) == 0 })
	swept(t, false, r.ID)
	nothingLeft(t, r)
}

func TestSweep_sparesKeptOnes(t *testing.T) {
	t.Run("a persistent ensemble outlives its owner, is attached, restarted, and goes with all", func(t *testing.T) {
		owner, r := startOwner(t, "keep")
		check.OK(t, owner.Wait())
		swept(t, false)

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
		swept(t, true) // we have attached to it
		check.OK(t, e.Down(ctx))
		check.OK(t, e.Down(ctx))
		awaitMode(t, e.Members[0], "leader", "follower") // Down only let go
		swept(t, true, r.ID)
		nothingLeft(t, r)
	})
	t.Run("a persistent ensemble whose members are all dead is removed", func(t *testing.T) {
		owner, r := startOwner(t, "keep")
		check.OK(t, owner.Wait())
		ctx := check.Within(t, time.Minute)
		e, err := Attach(ctx, r)
		check.OK(t, err)
		for _, m := range e.Members {
			check.OK(t, m.Machine.Kill(ctx))
		}
		check.OK(t, e.Down(ctx))
		swept(t, false, r.ID)
	})
}
