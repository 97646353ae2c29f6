package zoo

import "slices"

// The Worker of a tutorial ported from PHP ("get all the child nodes of /cluster and sort them")
// takes the first name of getChildren for the lowest and never sorts. The servers keep children in
// a hash set: its order is arbitrary, and changes when a node is added.
func init() {
	contestant("worker-unsorted", "trusts the order of getChildren", steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			return len(names) > 0 && names[0] == ours, names[max(slices.Index(names, ours)-1, 0)]
		},
		wait: awaitParent,
	})
}
