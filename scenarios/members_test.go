package scenarios

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// watcher opens a session with the first member.
func watcher(t *testing.T) *zk.Conn {
	t.Helper()
	c, events, err := zk.Connect(ensemble.Servers()[:1], 4*time.Second, zk.WithLogInfo(false))
	must(t, err)
	t.Cleanup(func() {
		c.Close()
		for range events { // closed once the library's goroutines are gone
		}
	})
	return c
}

// What a member says is read as it says it: a session's watches, and nobody else's. Members do not name the watches
// on children: who seems to watch nothing may watch those.
func TestMembers_watchesAreKnownOnlyWhereAllAreNamed(t *testing.T) {
	paths := []string{"/watches-test-a", "/watches-test-b"}
	one, other, m := watcher(t), watcher(t), stage.Members{Ensemble: ensemble}
	for c, watched := range map[*zk.Conn][]string{one: paths, other: paths[1:]} {
		for _, p := range watched {
			_, _, _, err := c.ExistsW(p)
			must(t, err)
		}
	}
	by, ok := m.Watches(t.Context())
	for _, w := range by {
		slices.Sort(w)
	}
	if !ok || !slices.Equal(by[one.SessionID()], paths) || !slices.Equal(by[other.SessionID()], paths[1:]) {
		t.Errorf("sessions %#x and %#x: %v, %v", one.SessionID(), other.SessionID(), by, ok)
	}
	_, _, _, err := one.ChildrenW("/")
	must(t, err)
	if by, ok := m.Watches(t.Context()); ok {
		t.Errorf("with a watch on children, which is not among %v, all are said to be known", by)
	}
}

// While the members elect, nobody leads, and whoever asks is answered when somebody does.
func TestMembers_leaderIsAwaited(t *testing.T) {
	m := stage.Members{Ensemble: ensemble}
	old, err := ensembles.Leader(t.Context(), ensemble)
	must(t, err)
	must(t, old.Machine.Pause(t.Context()))
	defer func() {
		must(t, old.Machine.Resume(context.Background()))
		must(t, ensembles.WaitServing(context.Background(), ensemble))
	}()
	leader, err := m.AwaitLeader(t.Context())
	if err != nil || leader == old {
		t.Errorf("got %v, %v", leader, err)
	}
}
