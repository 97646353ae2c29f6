package zoo

import "github.com/zkbench/zkbench/recipes"

// A lock that says it wakes one waiter a release, and has everybody watch the
// parent: it is right, and a herd.
func init() {
	claiming(recipes.Predecessor, "herd-lock", "watches the parent, and says that it watches the node before its own", steps{wait: awaitParent})
}
