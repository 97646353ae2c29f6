package spec_test

import (
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestKind_suitsOnlyRecipesThatCanDoIt(t *testing.T) {
	queue := recipes.Subject{Name: "zoo/queue-x", Recipe: recipes.RecipeQueue}
	for kind, want := range map[string]bool{"failover": true, "succession": true, "stream": false, "churn": false} {
		if err := spec.KindNamed(kind).Suits(queue); (err != nil) != want {
			t.Errorf("a queue in a %s: %v", kind, err)
		}
	}
}
