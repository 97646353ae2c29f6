package zoo

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"
)

// DistributedQueue.take of ZooKeeper's recipes returns the data once its delete has
// succeeded. When the reply to the delete is lost the exception takes the data
// along, or a retry finds the node gone and goes on to the next item. The item is
// deleted, and nobody has it.
func init() {
	queue("queue-take-reply-lost", "throws the data away when the reply to its delete was lost", queueSteps{
		take: func(ctx context.Context, q *items, path string, _ []byte) (bool, error) {
			_, err := steady(ctx, q.c, q.c.deleting(path))
			if errors.Is(err, zk.ErrNoNode) {
				return false, nil // "somebody else was faster"
			}
			return err == nil, err
		},
	})
}
