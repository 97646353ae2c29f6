package scenarios

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/ensembles"
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
	c, m := watcher(t), members{ensemble: ensemble}
	if _, _, _, err := c.ExistsW("/watches-test-a"); err != nil {
		t.Fatal(err)
	}
	if by, ok := m.watches(t.Context()); !ok || len(by[c.SessionID()]) != 1 {
		t.Errorf("with one watch on a node: %v, %v", by, ok)
	}
	if _, _, _, err := c.ChildrenW("/"); err != nil {
		t.Fatal(err)
	}
	if by, ok := m.watches(t.Context()); ok {
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
	parseWatches(reply, got)
	for _, w := range got {
		slices.Sort(w)
	}
	if !slices.Equal(got[one], paths) || !slices.Equal(got[other], paths[1:]) {
		t.Errorf("sessions %#x and %#x: %v in\n%s", one, other, got, reply)
	}
}

func TestParseWatches_bySession(t *testing.T) {
	for _, row := range []struct {
		name, reply string
		want        map[int64][]string
	}{
		{"nothing is watched", "\n", map[int64][]string{}},
		{"one path, two sessions", "/a\n\t0x1\n\t0x2\n", map[int64][]string{1: {"/a"}, 2: {"/a"}}},
		{"one session, two paths, lines end as on Windows", "/a\r\n\t0x1\r\n/b\r\n\t0x1\r\n", map[int64][]string{1: {"/a", "/b"}}},
		{"an id of a large member is negative", "/a\n\tffffffffffffffff\n", map[int64][]string{-1: {"/a"}}},
		{"a session before any path watches nothing", "0x1\n/a\n\t0x2\n", map[int64][]string{2: {"/a"}}},
		{"a refusal is no session", "wchp is not executed because it is not in the whitelist.\n", map[int64][]string{}},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := map[int64][]string{}
			parseWatches(row.reply, got)
			if !maps.EqualFunc(got, row.want, slices.Equal) {
				t.Errorf("got %v, want %v", got, row.want)
			}
		})
	}
}

func FuzzParseWatches(f *testing.F) {
	f.Add("/a\n\t0x1\n")
	f.Fuzz(func(t *testing.T, reply string) {
		got := map[int64][]string{}
		parseWatches(reply, got)
		for _, paths := range got {
			for _, p := range paths {
				if !strings.HasPrefix(p, "/") {
					t.Errorf("%q is no path", p)
				}
			}
		}
	})
}
