package chaos

import (
	"context"
	"errors"
	"testing"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
)

// contained returns three members in containers, or skips the test.
func contained(t testing.TB) Target {
	t.Helper()
	if err := container.Available(t.Context()); err != nil {
		t.Skip(err)
	}
	e, err := container.Start(t.Context(), ensembles.Options{Tick: tick})
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return withNetwork(t, e)
}

// withNetwork prepares to cut the ensemble's members, or skips the test.
func withNetwork(t testing.TB, e *ensembles.Ensemble) Target {
	t.Helper()
	n, err := network.Open(t.Context(), e)
	if errors.Is(err, ErrSkipped) && e.Kind != ensembles.Container {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, n.Close(context.Background())) })
	return Target{Ensemble: e, Network: n}
}

// A member that is started again in a container has a new network, in which nothing is
// cut.
func TestNetwork_noticesThatACutIsGoneBeforeItIsHealed(t *testing.T) {
	target := contained(t)
	for _, name := range []string{"partition.peers", "link.loss"} {
		effect, err := parse(t, name, "zk1").Inject(t.Context(), target)
		must(t, err)
		m := hit(t, target, effect)
		must(t, m.Machine.Kill(t.Context()))
		must(t, m.Machine.Start(t.Context()))
		if err := effect.Undo(t.Context()); !errors.Is(err, ErrNoEffect) || errors.Is(err, ErrNotHealed) {
			t.Errorf("%s of a member that was started again meanwhile: %v", name, err)
		}
		must(t, effect.AwaitRecovery(t.Context()))
	}
}
