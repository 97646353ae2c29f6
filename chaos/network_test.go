package chaos

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/network"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/process"
)

// kinds are the ways to run an ensemble whose network can be cut.
var kinds = map[ensembles.Kind]func(context.Context, ensembles.Options) (*ensembles.Ensemble, error){
	ensembles.Process:   process.Start,
	ensembles.Container: container.Start,
}

// start starts an ensemble of that kind, or skips the test where that cannot be.
func start(t testing.TB, kind ensembles.Kind, o ensembles.Options) *ensembles.Ensemble {
	t.Helper()
	if kind == ensembles.Container {
		if err := container.Available(t.Context()); err != nil {
			t.Skip(err)
		}
	}
	e, err := kinds[kind](t.Context(), o)
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return e
}

// openNetwork prepares to cut the ensemble's members, or skips the test.
func openNetwork(t testing.TB, e *ensembles.Ensemble) *network.Network {
	t.Helper()
	begin := time.Now()
	n, err := network.Open(t.Context(), e)
	if errors.Is(err, ErrSkipped) && e.Kind != ensembles.Container {
		t.Skip(err)
	}
	must(t, err)
	t.Logf("network of %d %s members ready in %v", len(e.Members), e.Kind, time.Since(begin))
	t.Cleanup(func() { must(t, n.Close(context.Background())) })
	return n
}

// A member that is started again in a container has a new network, in which nothing is
// cut.
func TestNetwork_noticesThatACutIsGoneBeforeItIsHealed(t *testing.T) {
	e := start(t, ensembles.Container, ensembles.Options{})
	target := Target{Ensemble: e, Network: openNetwork(t, e)}
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
