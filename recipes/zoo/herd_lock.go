package zoo

import "github.com/zkbench/zkbench/recipes"

// A lock that says it wakes one waiter a release, at the cost of go-zookeeper's lock,
// and has everybody watch the parent: it is right, and a herd.
func init() {
	claimed, err := recipes.Find("lock/go-zookeeper")
	if err != nil {
		panic(err)
	}
	s := lock("herd-lock", "watches the parent, and says that it watches the node before its own", steps{wait: awaitParent})
	s.Variant, s.Formulas = claimed.Variant, claimed.Formulas
	recipes.Register(s)
}
