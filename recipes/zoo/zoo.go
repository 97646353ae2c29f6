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

// contestant registers a lock or an election that gets the steps wrong.
func contestant(name, about string, wrong steps) {
	recipes.Register(recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about,
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			return openLine(ctx, env, wrong.orSound())
		},
	})
}

// claiming is contestant for one that claims to be of a variant, and to cost what
// that variant costs.
func claiming(v recipes.Variant, name, about string, wrong steps) {
	recipes.Register(recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about, Variant: v, Drain: lineDrain,
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			return openLine(ctx, env, wrong.orSound())
		},
	})
}

// lineDrain is the formula for a line whose waiters watch the node before their
// own, list again when woken, and look at their node before they claim.
func lineDrain(n, k int) recipes.Cost {
	woken := int64(min(k, n-1))
	return recipes.Cost{Notifications: woken, Lists: woken, Deletes: int64(k), Others: woken}
}

// queue registers a queue that gets the steps wrong.
func queue(name, about string, wrong queueSteps) {
	recipes.Register(recipes.Subject{
		Name: "zoo/" + name, About: "BROKEN: " + about,
		Open: func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			return openQueue(ctx, env, wrong.orSound())
		},
	})
}
