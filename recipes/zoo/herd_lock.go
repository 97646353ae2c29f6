package zoo

import "github.com/zkbench/zkbench/recipes"

// A lock that claims to notify one waiter per release, at the cost of go-zookeeper's lock, and lets
// all waiters watch the parent: it is correct, and a herd.
func init() {
	claimed, err := recipes.Find("lock/go-zookeeper")
	if err != nil {
		panic(err)
	}
	s := lock("herd-lock", "watches the parent, but declares that it watches its predecessor", steps{wait: awaitParent})
	s.Variant, s.Formulas = claimed.Variant, claimed.Formulas
	recipes.Register(s)
}
