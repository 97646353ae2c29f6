package stage

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// Readers that hold together need not wait in line.
func TestNotInLine_countsThoseThatHold(t *testing.T) {
	for recipe, want := range map[recipes.Recipe]int{recipes.RecipeLock: 1, recipes.RecipeSemaphore: 2, recipes.RecipeRWLock: 3} {
		st := &Stage{Cell: spec.Cell{Subject: recipes.Subject{Recipe: recipe}}, Scenario: &spec.Scenario{Permits: 2}}
		for i := range 4 {
			c := &Client{Number: i, Stage: st}
			c.HasGrant.Store(i > 0)
			st.Clients = append(st.Clients, c)
		}
		if got := st.NonWaiterCount(); got != want {
			t.Errorf("%s: %d of 4 clients need not wait, want %d", recipe, got, want)
		}
	}
}
