package zoo

import (
	"context"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// A node that is created first and written to afterwards is an item without content in between. A
// consumer takes that, and all do if the producer does not come to the second step.
func init() {
	queue("queue-put-in-two", "makes an item's node empty, and writes the item into it afterwards", queueSteps{
		put: func(ctx context.Context, q *items, item []byte) error {
			path, err := q.c.create(ctx, q.env.Parent+"/"+client.NewID()+marker, nil, zk.FlagSequence)
			if err == nil {
				_, err = q.c.Set(path, item, -1)
			}
			return outcome(err)
		},
	})
}
