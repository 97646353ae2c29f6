package zoo

import (
	"context"
	"fmt"
)

// Two tutorials on leader election and on a resource lock assume that the node ahead has one's own
// number less one. It does, until a waiter in the middle of the line leaves. Then, to check again
// at once if the node is missing (the resource lock, and the recipe's step five read literally) is
// a busy loop; to watch it all the same (the leader election) is to wait forever.
func init() {
	contestant("predecessor-minus-one", "takes the node with its own number minus one for its predecessor, and polls if that node does not exist", steps{
		name:  plainName,
		order: lessOne,
	})
	contestant("predecessor-minus-one-waits", "watches the node with its own number less one, whether or not it is there", steps{
		name:  plainName,
		order: lessOne,
		wait: func(ctx context.Context, l *line, ours, ahead string) (bool, error) {
			// The watch on a missing node fires on its creation, which never comes.
			w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
			if err != nil {
				return false, err
			}
			if names, err := l.steps.list(ctx, l); err == nil {
				if first, _ := byNumber(names, ours); first {
					return true, nil // otherwise every hand-off in that moment would end here
				}
			}
			return false, w.fired(ctx)
		},
	})
	// With a GUID in the names (the original resource lock) a name cannot be computed: the tutorial
	// looks up its number less one in a map of the listed names, and checks for the map's zero
	// value.
	contestant("predecessor-minus-one-guid", "looks for its own number minus one in its list, and polls the node null if that does not exist", steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			first, _ = byNumber(names, ours)
			ahead = "null"
			for _, name := range names {
				if number(name) == number(ours)-1 {
					ahead = name
				}
			}
			return first, ahead
		},
	})
}

// plainName makes names that can be computed from their numbers.
func plainName(*conn, string) string { return "host" + marker }

func lessOne(names []string, ours string) (first bool, ahead string) {
	first, _ = byNumber(names, ours)
	return first, fmt.Sprintf("host%s%010d", marker, number(ours)-1)
}
