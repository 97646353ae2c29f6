package zoo

import "context"

// go-zookeeper's Lock (lock.go) returns any error that comes after its create as it
// is, and leaves the node: it blocks everybody, the caller's own next try included,
// until the session ends.
func init() {
	contestant("cleanup-missing", "leaves its node in line when anything fails after the create", steps{
		list: func(ctx context.Context, l *line) ([]string, error) {
			names, err := once(ctx, l.c.listing(l.env.Parent))
			return names, outcome(err)
		},
		abandon: func(context.Context, *line, string) {},
	})
}
