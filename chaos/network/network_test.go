package network

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"slices"
	"strings"
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
func openNetwork(t testing.TB, e *ensembles.Ensemble) *Network {
	t.Helper()
	begin := time.Now()
	n, err := Open(t.Context(), e)
	if errors.Is(err, ErrSkipped) && e.Kind != ensembles.Container {
		t.Skip(err)
	}
	must(t, err)
	t.Logf("network of %d %s members ready in %v", len(e.Members), e.Kind, time.Since(begin))
	t.Cleanup(func() { must(t, n.Close(context.Background())) })
	return n
}

// The members' daemon may go away, or not answer in time: that is no reason to panic.
func TestOpen_saysWhyThereIsNoDocker(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "none.sock")
	t.Setenv("DOCKER_HOST", "unix://"+socket)
	e := &ensembles.Ensemble{Kind: ensembles.Container, Members: []*ensembles.Member{{Name: "zk1", ContainerID: "c0ffee"}}}
	_, err := Open(t.Context(), e)
	if !errors.Is(err, ErrSkipped) || !strings.Contains(err.Error(), "there is no Docker socket "+socket+": install and start Docker") {
		t.Errorf("got %v", err)
	}
}

// knocked is one attempt to connect.
type knocked struct {
	begin, end time.Time
	ok         bool
}

// knock connects to an address again and again, and sends each attempt.
func knock(t testing.TB, addr string) <-chan knocked {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	t.Cleanup(func() { cancel(); <-done })
	attempts := make(chan knocked)
	go func() {
		defer close(done)
		d := net.Dialer{Timeout: 10 * time.Millisecond}
		for ctx.Err() == nil {
			k := knocked{begin: time.Now()}
			c, err := d.DialContext(ctx, "tcp", addr)
			k.end, k.ok = time.Now(), err == nil
			if err == nil {
				c.Close()
			}
			select {
			case attempts <- k:
			case <-ctx.Done():
			}
		}
	}()
	return attempts
}

// await reads attempts until one that ended as wanted and was begun after since.
func await(attempts <-chan knocked, since time.Time, ok bool) knocked {
	for {
		if k := <-attempts; k.ok == ok && k.begin.After(since) {
			return k
		}
	}
}

// effectLimit is the promise: a cut takes effect, and a heal too, so soon after the call.
const effectLimit = 50 * time.Millisecond

func TestNetwork_takesEffectAtOnce(t *testing.T) {
	for kind := range kinds {
		t.Run(string(kind), func(t *testing.T) {
			e := start(t, kind, ensembles.Options{Members: 1})
			n, m := openNetwork(t, e), e.Members[0]
			attempts := knock(t, m.Addr)
			var cuts, heals []time.Duration
			for range 20 {
				await(attempts, time.Now(), true)
				begin := time.Now()
				c, err := n.Cut(t.Context(), m, Rule{})
				must(t, err)
				returned := time.Now()
				// The first attempt after the call must fail, not just a later one.
				k := <-attempts
				for k.begin.Before(returned) {
					k = <-attempts
				}
				if k.ok {
					t.Errorf("a connection was made %v after the cut", k.end.Sub(returned))
				}
				cuts = append(cuts, returned.Sub(begin))
				begin = time.Now()
				must(t, c.Remove(t.Context()))
				heals = append(heals, await(attempts, begin, true).end.Sub(begin))
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
