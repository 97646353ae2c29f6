package zoo

import "context"

// Reading an item and deleting it are two requests. A consumer that hands the data on before the
// delete is confirmed hands on an item that another may have taken as well.
func init() {
	queue("queue-get-before-delete", "hands an item on before its delete is confirmed", queueSteps{
		take: func(_ context.Context, q *items, path string, _ []byte) (bool, error) {
			go func() { _ = q.c.Delete(path, -1) }() // does not wait for its reply
			return true, nil
		},
	})
}
