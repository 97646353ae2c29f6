package zoo

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

func init() {
	queue("queue-take-reply-lost", "throws the data away when the reply to its delete was lost", queueSteps{
		take: func(ctx context.Context, q *items, path string, _ []byte) (bool, error) {
			_, err := steady(ctx, q.c, q.c.deleting(path))
			if errors.Is(err, zk.ErrNoNode) {
				return false, nil
			}
			return err == nil, err
		},
	})
}
