package zoo

import "context"

// go-zookeeper's Lock (lock.go) returns errors after its create unchanged, and leaves the node: it
// blocks all clients, including the caller's next try, until the session ends.
func init() {
	contestant("cleanup-missing", "leaves its node in line when anything fails after the create", steps{
		list: func(ctx context.Context, l *line) ([]string, error) {
			names, err := once(ctx, l.c.listing(l.env.Parent))
			return names, outcome(err)
		},
		abandon: func(context.Context, *line, string) {},
	})
}
