package container

import (
	"context"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/moby/moby/client"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/internal/check"
	"github.com/zkbench/zkbench/ensembles/internal/setup"
	"github.com/zkbench/zkbench/ensembles/state"
)

// start runs an ensemble for one test and proves at its end that nothing is left.
func start(t testing.TB, o ensembles.Options) *ensembles.Ensemble {
	t.Helper()
	needDocker(t)
	e, err := Start(t.Context(), o)
	check.OK(t, err)
	t.Cleanup(func() {
		check.OK(t, e.Down(context.Background()))
		if n := count(t, e.ID); n != 0 {
			t.Errorf("%d containers and networks of ensemble %s are left", n, e.ID)
		}
	})
	return e
}

// session opens a session that ends with the test.
func session(t testing.TB, m *ensembles.Member) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect([]string{m.Addr}, 10*time.Second, zk.WithLogInfo(false))
	check.OK(t, err)
	t.Cleanup(c.Close)
	for e := range events {
		if e.State == zk.StateHasSession {
			break
		}
	}
	return c
}

// needDocker skips a test where the machine has no Docker, and nowhere else: a
// broken Available must not turn these tests off.
func needDocker(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/var/run/docker.sock"); err != nil && os.Getenv("DOCKER_HOST") == "" {
		t.Skip("no Docker here")
	}
	check.OK(t, Available(t.Context()))
}

// count returns how many containers and networks Docker holds of an ensemble.
func count(t testing.TB, id string) int {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	docker, err := Docker(ctx)
	check.OK(t, err)
	defer docker.Close()
	all, err := find(ctx, docker, id)
	check.OK(t, err)
	n := 0
	for _, f := range all {
		n += len(f.containers) + len(f.networks)
	}
	return n
}

// waitLeader waits until somebody else leads.
func waitLeader(t testing.TB, e *ensembles.Ensemble, old *ensembles.Member) {
	t.Helper()
	check.Eventually(t, "somebody replaces "+old.Name, func() bool {
		leader, err := ensembles.Leader(t.Context(), e)
		return err == nil && leader != old
	})
}

// docker connects to Docker for one test.
func docker(t *testing.T) *client.Client {
	t.Helper()
	needDocker(t)
	d, err := Docker(t.Context())
	check.OK(t, err)
	return d
}

// planned is an ensemble that is not made yet. What is made of it in Docker, if
// that is given, goes with the test.
func planned(t *testing.T, docker *client.Client, o ensembles.Options) *ensemble {
	t.Helper()
	r, err := setup.New(ensembles.Container, o)
	check.OK(t, err)
	p := newEnsemble(r, docker)
	p.logf = t.Logf
	if docker == nil {
		return p
	}
	t.Cleanup(func() { check.OK(t, p.down(context.Background())) })
	p.About, err = pickImage(t.Context(), docker, "", p.logf)
	check.OK(t, err)
	return p
}

// listed returns the record of an ensemble that is listed, or nil.
func listed(t *testing.T, id string) *state.Record {
	t.Helper()
	records, err := state.List()
	check.OK(t, err)
	i := slices.IndexFunc(records, func(r state.Record) bool { return r.ID == id })
	if i < 0 {
		return nil
	}
	return &records[i]
}
