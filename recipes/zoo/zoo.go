// Package zoo keeps broken recipes, one file a bug. Each is the small, faithful
// mistake of real code, with its origin in a comment, in an implementation that is
// sound otherwise. They are the proof that the verdicts can fail: a run of the
// scenario zoo provokes each and must catch it.
//
// Importing the package registers the specimens as subjects named "zoo/...". They
// must never be used for anything else.
package zoo

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
)

func contestant(name, about string, wrong steps) {
	recipes.Register(lock(name, about, wrong))
}

// lock is a lock that gets the steps wrong, and promises what a lock should.
func lock(name, about string, wrong steps) recipes.Subject {
	return recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about, Recipe: recipes.RecipeLock,
		Promises: recipes.Promises{Exclusive: true, FIFO: true, Events: true},
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			return openLine(ctx, env, wrong.orSound())
		},
	}
}

// queue registers a queue that gets the steps wrong, and promises what a queue should.
func queue(name, about string, wrong queueSteps) {
	recipes.Register(recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about, Recipe: recipes.RecipeQueue,
		Promises: recipes.Promises{FIFO: true, Delivery: recipes.ExactlyOnce},
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			return openQueue(ctx, env, wrong.orSound())
		},
	})
}
