//go:build linux

package process

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/state"
)

func TestSweep(t *testing.T) {
	t.Run("an ensemble whose owner was killed is removed, one whose owner lives is not", func(t *testing.T) {
		owner, id := startOwner(t, "run")
		r, err := state.Load(id)
		ok(t, err)
		removed, err := Sweep(context.Background(), true)
		ok(t, err)
		if len(removed) != 0 || len(state.FindAll(mark(id))) != 3 {
			t.Fatalf("a living owner's ensemble was touched: %q", removed)
		}

		ok(t, owner.Process.Kill())
		_ = owner.Wait() // its error is that it was killed
		// The JVMs die with their owner, before anybody sweeps.
		if err := await(within(t, 5*time.Second), func() bool { return len(state.FindAll(mark(id))) == 0 }); err != nil {
			t.Errorf("JVMs outlive their owner: %v", state.FindAll(mark(id)))
		}
		removed, err = Sweep(context.Background(), false)
		ok(t, err)
		if len(removed) != 1 || !strings.Contains(removed[0], id) {
			t.Errorf("removed %q", removed)
		}
		nothingLeft(t, r)
	})
}

func TestSweep_kept(t *testing.T) {
	t.Run("a kept ensemble outlives its owner, is attached, restarted, and goes with all", func(t *testing.T) {
		owner, id := startOwner(t, "keep")
		ok(t, owner.Wait())
		r, err := state.Load(id)
		ok(t, err)
		removed, err := Sweep(context.Background(), false)
		ok(t, err)
		if len(removed) != 0 {
			t.Fatalf("a kept ensemble was swept: %q", removed)
		}

		ctx := within(t, time.Minute)
		e, err := Attach(ctx, id)
		ok(t, err)
		awaitMode(t, e.Members[0], "leader", "follower")
		ok(t, e.Members[0].Machine.Kill(ctx))
		ok(t, e.Members[0].Machine.Start(ctx))
		awaitMode(t, e.Members[0], "leader", "follower")
		if e.Version != r.Version || e.Tick != 2*time.Second {
			t.Errorf("attached to version %q, tick %v", e.Version, e.Tick)
		}
		removed, err = Sweep(ctx, true)
		ok(t, err)
		if len(removed) != 0 {
			t.Errorf("an ensemble that we have attached to was swept: %q", removed)
		}
		ok(t, e.Down(ctx))
		ok(t, e.Down(ctx))
		awaitMode(t, e.Members[0], "leader", "follower") // Down only let go

		removed, err = Sweep(context.Background(), true)
		ok(t, err)
		if len(removed) != 1 {
			t.Errorf("removed %q", removed)
		}
		nothingLeft(t, r)
	})

	t.Run("a kept ensemble whose members are all dead is removed", func(t *testing.T) {
		owner, id := startOwner(t, "keep")
		ok(t, owner.Wait())
		ctx := within(t, time.Minute)
		e, err := Attach(ctx, id)
		ok(t, err)
		for _, m := range e.Members {
			ok(t, m.Machine.Kill(ctx))
		}
		ok(t, e.Down(ctx))
		removed, err := Sweep(ctx, false)
		ok(t, err)
		if len(removed) != 1 {
			t.Errorf("removed %q", removed)
		}
	})
}

func TestAttach(t *testing.T) {
	t.Run("nobody knows the id", func(t *testing.T) {
		if _, err := Attach(t.Context(), "nope"); err == nil || !strings.Contains(err.Error(), "no ensemble nope") {
			t.Errorf("got %v", err)
		}
	})
	t.Run("an ensemble that is not kept is its owner's alone", func(t *testing.T) {
		ok(t, state.Save(state.Record{ID: "theirs", Kind: "process", Owner: state.Self()}))
		defer func() { ok(t, state.Remove("theirs")) }()
		if _, err := Attach(t.Context(), "theirs"); err == nil || !strings.Contains(err.Error(), "ends with it") {
			t.Errorf("got %v", err)
		}
	})
}
