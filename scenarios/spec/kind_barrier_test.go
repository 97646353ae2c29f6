package spec_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestBarrier_runsWhereAllEnter(t *testing.T) {
	barrier := recipes.Subject{Name: "barrier/mine", Recipe: recipes.RecipeBarrier}
	for _, k := range spec.Kinds {
		err := k.Suits(barrier)
		meets := strings.Contains("churn connect drain episode", k.Name)
		if meets != (err == nil) || err != nil && !strings.Contains(err.Error(), "it runs in phases of kind ") {
			t.Errorf("a barrier in a %s: %v", k.Name, err)
		}
	}
}
