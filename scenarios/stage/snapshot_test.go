package stage

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

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
			ParseWatches(row.reply, got)
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
		ParseWatches(reply, got)
		for _, paths := range got {
			for _, p := range paths {
				if !strings.HasPrefix(p, "/") {
					t.Errorf("%q is no path", p)
				}
			}
		}
	})
}

// A client may wait for a node that opens the barrier and is missing; nothing in a lock's line is
// missing.
func TestBarrier_watchOnAMissingNodeCanFire(t *testing.T) {
	for recipe, want := range map[recipes.Recipe]int64{recipes.RecipeBarrier: 1, recipes.RecipeLock: 0} {
		w := &history.Waiter{Session: 1}
		countWatches(w, []string{"/run/line/ready"}, nil, "/run/line", recipe == recipes.RecipeBarrier)
		if *w.Watches != want || w.Others != 1-want {
			t.Errorf("%s: %d watches, %d others", recipe, *w.Watches, w.Others)
		}
	}
}
