package zoo

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// DistributedQueue.offer of ZooKeeper's recipes is a create; callers repeat it when the reply is
// lost, and report that the item is in the queue once.
func init() {
	queue("queue-offer-retry", "puts an item again when the reply was lost, and reports a single put", queueSteps{
		put: func(ctx context.Context, q *items, item []byte) error {
			_, err := steady(ctx, q.c, func() (string, error) {
				return q.c.Create(q.env.Parent+"/"+client.NewID()+marker, item, zk.FlagSequence, q.c.acl)
			})
			return err
		},
	})
}
