package scenarios

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
)

// A client must be able to do what the recipe of its subject asks for.
func TestStage_acceptsAClientThatCanDoWhatItsRecipeNeeds(t *testing.T) {
	type closes struct{ recipes.Client }
	type contends struct{ recipes.Contender }
	type takes struct{ recipes.QueueClient }
	for _, row := range []struct {
		recipe recipes.Recipe
		client recipes.Client
		err    string
	}{
		{recipes.RecipeLock, contends{}, ""},
		{recipes.RecipeElection, contends{}, ""},
		{recipes.RecipeQueue, takes{}, ""},
		{recipes.RecipeQueue, contends{}, "is no recipes.QueueClient"},
		{recipes.RecipeLock, takes{}, "is no recipes.Contender"},
		{recipes.RecipeQueue, closes{}, "is no recipes.QueueClient"},
	} {
		st := &stage{cell: cell{Subject: recipes.Subject{Name: "x", Recipe: row.recipe}}}
		err := st.accept(row.client)
		if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
			t.Errorf("a %s with %T: %v", row.recipe, row.client, err)
		}
	}
}

func TestKind_suitsOnlyRecipesThatCanDoIt(t *testing.T) {
	queue := recipes.Subject{Name: "zoo/queue-x", Recipe: recipes.RecipeQueue}
	for kind, want := range map[string]bool{"failover": true, "succession": true, "stream": false, "churn": false} {
		if err := kindNamed(kind).suits(queue); (err != nil) != want {
			t.Errorf("a queue in a %s: %v", kind, err)
		}
	}
}
