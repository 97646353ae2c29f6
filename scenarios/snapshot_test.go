package scenarios

import (
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Close()
		for range events { // closed once the library's goroutines are gone
		}
	})
	return c
}

// Members do not name the watches on children: who seems to watch nothing may watch those.
func TestMembers_watchesAreKnownOnlyWhereAllAreNamed(t *testing.T) {
	c, m := watcher(t), stage.Members{Ensemble: ensemble}
	if _, _, _, err := c.ExistsW("/watches-test-a"); err != nil {
		t.Fatal(err)
	}
	if by, ok := m.Watches(t.Context()); !ok || len(by[c.SessionID()]) != 1 {
		t.Errorf("with one watch on a node: %v, %v", by, ok)
	}
	if _, _, _, err := c.ChildrenW("/"); err != nil {
		t.Fatal(err)
	}
	if by, ok := m.Watches(t.Context()); ok {
		t.Errorf("with a watch on children, which is not among %v, all are said to be known", by)
	}
}

// What a member says is read as it says it: a session's watches, and nobody else's.
func TestParseWatches_real(t *testing.T) {
	watch := func(paths ...string) (session int64) {
		c := watcher(t)
		for _, p := range paths {
			if _, _, _, err := c.ExistsW(p); err != nil {
				t.Fatal(err)
			}
		}
		return c.SessionID()
	}
	paths := []string{"/watches-test-a", "/watches-test-b"}
	one, other := watch(paths...), watch(paths[1])
	reply, err := ensembles.FourLetter(t.Context(), ensemble.Members[0], "wchp")
	if err != nil {
		t.Fatal(err)
	}
	got := map[int64][]string{}
	stage.ParseWatches(reply, got)
	for _, w := range got {
		slices.Sort(w)
	}
	if !slices.Equal(got[one], paths) || !slices.Equal(got[other], paths[1:]) {
		t.Errorf("sessions %#x and %#x: %v in\n%s", one, other, got, reply)
	}
}
