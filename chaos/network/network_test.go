package network

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/container"
	"github.com/zkbench/zkbench/ensembles/process"
)

// kinds are the ways to run an ensemble whose network can be cut.
var kinds = map[ensembles.Kind]func(context.Context, ensembles.Options) (*ensembles.Ensemble, error){
	ensembles.Process:   process.Start,
	ensembles.Container: container.Start,
}

// start starts an ensemble of one member of that kind, or skips the test where that cannot be.
func start(t testing.TB, kind ensembles.Kind) *ensembles.Ensemble {
	t.Helper()
	if kind == ensembles.Container {
		if err := container.Available(t.Context()); err != nil {
			t.Skip(err)
		}
	}
	e, err := kinds[kind](t.Context(), ensembles.Options{Members: 1})
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return e
}

// openMember starts an ensemble of one member and prepares to cut it, or skips the test.
func openMember(t testing.TB, kind ensembles.Kind) (*Network, *ensembles.Member) {
	t.Helper()
	e := start(t, kind)
	n, err := Open(t.Context(), e)
	if errors.Is(err, ErrSkipped) && kind != ensembles.Container {
		t.Skip(err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, n.Close(context.Background())) })
	return n, e.Members[0]
}

// effectLimit is the promise: a cut takes effect, and a heal too, so soon after the call.
const effectLimit = 50 * time.Millisecond

func TestNetwork_takesEffectAtOnce(t *testing.T) {
	for kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			n, m := openMember(t, kind)
			connects := func() bool {
				c, err := net.DialTimeout("tcp", m.Addr, 10*time.Millisecond)
				if err == nil {
					c.Close()
				}
				return err == nil
			}
			within(t, 10*time.Second, "the member accepts connections", connects)
			var cuts, heals []time.Duration
			for range 20 {
				begin := time.Now()
				c, err := n.Cut(t.Context(), m, Rule{})
				must(t, err)
				cuts = append(cuts, time.Since(begin))
				if connects() {
					t.Error("a connection was made after the cut")
				}
				if d, err := c.Dropped(t.Context()); err != nil || d == 0 {
					t.Errorf("dropped %d packets, %v", d, err)
				}
				begin = time.Now()
				must(t, c.Remove(t.Context()))
				within(t, 10*time.Second, "the member accepts connections again", connects)
				heals = append(heals, time.Since(begin))
				must(t, c.Remove(t.Context()))
			}
			for what, all := range map[string][]time.Duration{"cut": cuts, "heal": heals} {
				slices.Sort(all)
				t.Logf("%s takes effect after: median %v, most %v", what, all[len(all)/2], all[len(all)-1])
				if all[len(all)/2] > effectLimit {
					t.Errorf("%s: the median is over %v", what, effectLimit)
				}
			}
		})
	}
}
