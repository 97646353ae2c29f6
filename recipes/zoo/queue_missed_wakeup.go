package zoo

import "context"

// The lock's bug in a queue: a consumer that finds nothing lists again with a watch, and waits
// regardless of the list. An item that comes between the two notifies no consumer.
func init() {
	queue("queue-missed-wakeup", "finds the queue empty, lists again with a watch, and waits although the reply contains an item", queueSteps{
		wait: func(ctx context.Context, q *items, _ watched) error {
			w, err := q.c.watchChildren(ctx, q.env.Parent)
			if err != nil {
				return err
			}
			return w.fired(ctx)
		},
	})
}
