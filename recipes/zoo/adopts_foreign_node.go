package zoo

import (
	"context"
	"strings"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// The shape of CURATOR-498: a client that loses its connection takes a new session, finds the node
// of its last create by the ID in its name, and adopts it. The node belongs to the old session,
// which is no longer kept alive: when that expires the node is deleted, and with it the grant that
// the client believes to hold.
func init() {
	contestant("adopts-foreign-node", "adopts a node by the id in its name, though it belongs to its session before, which is dying", steps{
		create: func(ctx context.Context, l *line) (string, error) {
			name := l.steps.name(l.c, client.NewID())
			path, err := l.create(ctx, name)
			if !lost(err) {
				return path, err
			}
			l.c.Close() // disconnected: the servers do not receive it
			if err := l.connect(ctx); err != nil {
				return "", err
			}
			names, err := l.c.list(ctx, l.env.Parent)
			for _, n := range names {
				if strings.HasPrefix(n, name) {
					return l.env.Parent + "/" + n, nil
				}
			}
			if err != nil {
				return "", err
			}
			return l.create(ctx, name)
		},
	})
}
