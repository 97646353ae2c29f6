package zoo

import (
	"context"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
)

// Before each acquire the lock creates an ephemeral node only to check whether it is connected, and
// never deletes it (spring-integration #2557).
func init() {
	contestant("leaks-probe", "creates a node for each acquire to test the connection, and never deletes it", steps{
		create: func(ctx context.Context, l *line) (string, error) {
			if _, err := l.c.create(ctx, l.env.Parent+"/probe-", nil, zk.FlagEphemeral|zk.FlagSequence); err != nil {
				return "", err
			}
			return createOnce(ctx, l)
		},
		list: func(ctx context.Context, l *line) ([]string, error) {
			names, err := l.c.list(ctx, l.env.Parent)
			return slices.DeleteFunc(names, func(name string) bool { return strings.HasPrefix(name, "probe-") }), err
		},
	})
}
