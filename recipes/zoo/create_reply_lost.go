package zoo

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// Before protected creates, locks repeated a create whose reply was lost, without a way to find the
// node that it may have made (samuel/go-zookeeper #229). The node of the first try stays in line as
// long as the session lives, ahead of the second, and its owner waits behind it.
func init() {
	contestant("create-reply-lost", "repeats a create whose reply was lost, and cannot find the first node again", steps{
		create: func(ctx context.Context, l *line) (string, error) {
			return steady(ctx, l.c, func() (string, error) {
				return l.c.Create(l.env.Parent+"/"+l.steps.name(l.c, client.NewID()), nil, zk.FlagEphemeral|zk.FlagSequence, l.c.acl)
			})
		},
	})
}
