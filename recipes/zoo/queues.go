package zoo

import (
	"context"
	"errors"
	"slices"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

func init() {
	// A queue that takes the item with the highest number first is a stack.
	registerQueue("queue-lifo", "takes the youngest item", queueSteps{
		order: func(names []string) {
			slices.SortFunc(names, func(a, b string) int { return int(number(b) - number(a)) })
		},
	})

	// Reading an item and deleting it are two requests. A consumer that returns the data before the delete is
	// confirmed may return an item that another consumer takes as well.
	registerQueue("queue-get-before-delete", "returns an item before its delete is confirmed", queueSteps{
		take: func(_ context.Context, q *queueClient, path string, _ []byte) (bool, error) {
			go func() { _ = q.c.Delete(path, -1) }() // does not wait for its reply
			return true, nil
		},
	})

	// The bug of missed-wakeup in a queue: a consumer that finds no item lists again with a watch, and waits
	// regardless of that list. An item that is put between the two lists notifies no consumer.
	registerQueue("queue-missed-wakeup", "finds the queue empty, lists again with a watch, and waits although the reply contains an item", queueSteps{
		wait: func(ctx context.Context, q *queueClient, _ watched) error {
			w, err := q.c.watchChildren(ctx, q.env.Parent)
			if err != nil {
				return err
			}
			return w.wait(ctx)
		},
	})

	registerQueue("queue-take-reply-lost", "discards the data when the reply to its delete was lost", queueSteps{
		take: func(ctx context.Context, q *queueClient, path string, _ []byte) (bool, error) {
			_, err := retry(ctx, q.c, q.c.deleting(path))
			if errors.Is(err, zk.ErrNoNode) {
				return false, nil
			}
			return err == nil, err
		},
	})

	// DistributedQueue.offer of ZooKeeper's recipes is a create; callers repeat it when the reply is
	// lost, and report that the item is in the queue once.
	registerQueue("queue-offer-retry", "puts an item again when the reply was lost, and reports a single put", queueSteps{
		put: func(ctx context.Context, q *queueClient, item []byte) error {
			_, err := retry(ctx, q.c, func() (string, error) {
				return q.c.Create(q.env.Parent+"/"+client.NewID()+marker, item, zk.FlagSequence, q.c.acl)
			})
			return err
		},
	})

	// A node that is created first and written to afterwards is an item without content in between. A consumer
	// may take the empty item, and always does if the producer fails before the second step.
	registerQueue("queue-put-in-two", "creates an empty node for an item, and writes the item into it afterwards", queueSteps{
		put: func(ctx context.Context, q *queueClient, item []byte) error {
			path, err := q.c.create(ctx, q.env.Parent+"/"+client.NewID()+marker, nil, zk.FlagSequence)
			if err == nil {
				_, err = q.c.Set(path, item, -1)
			}
			return markReplyLost(err)
		},
	})
}
