// Package zoo contains recipes with deliberate bugs. Each is correct except for one small mistake that real
// code has made; a comment names its origin. They prove that the verdicts can fail: a run of the scenario
// zoo must detect every mistake.
//
// Importing the package registers the recipes as subjects named "zoo/...". They must not be used for anything else.
package zoo

import (
	"context"

	"github.com/zkbench/zkbench/recipes"
)

func registerLock(name, about string, wrong steps) {
	recipes.Register(lockSubject(name, about, wrong))
}

func registerShared(r recipes.Recipe, name, about string, fifo bool, wrong steps) {
	s := lockSubject(name, about, wrong)
	s.Recipe, s.Promises.FIFO = r, fifo
	recipes.Register(s)
}

func lockSubject(name, about string, wrong steps) recipes.Subject {
	return recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about, Recipe: recipes.RecipeLock,
		Promises: recipes.Promises{Exclusive: true, FIFO: true, Events: true},
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			l := &lockClient{env: env, steps: wrong.withDefaults()}
			return l, l.connect(ctx)
		},
	}
}

func registerQueue(name, about string, wrong queueSteps) {
	recipes.Register(recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about, Recipe: recipes.RecipeQueue,
		Promises: recipes.Promises{FIFO: true, Delivery: recipes.ExactlyOnce},
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			c, err := connect(ctx, env, nil)
			return &queueClient{env, wrong.withDefaults(), c}, err
		},
	})
}
