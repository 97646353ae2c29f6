package stage

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report/history"
)

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
