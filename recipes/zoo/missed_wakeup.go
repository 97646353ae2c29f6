package zoo

import "context"

// ZooKeeper's WriteLock asks whether the node ahead exists, leaves a watch, and
// waits: also when the answer was that it is gone. That happens when it goes
// between the list and the question, and then nobody wakes the waiter.
func init() {
	contestant("missed-wakeup", "waits for the node ahead though the servers said that it is gone", steps{
		wait: func(ctx context.Context, l *line, _, ahead string) (bool, error) {
			w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
			if err != nil {
				return false, err
			}
			return false, w.fired(ctx)
		},
	})
}
