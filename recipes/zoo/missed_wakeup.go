package zoo

import "context"

// ZooKeeper's WriteLock checks whether the node ahead exists, leaves a watch, and waits, even if
// the node does not exist. That happens when it is deleted between the list and the check; then no
// notification comes.
func init() {
	contestant("missed-wakeup", "waits for its predecessor although the servers replied that it no longer exists", steps{
		wait: func(ctx context.Context, l *line, _, ahead string) (bool, error) {
			w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
			if err != nil {
				return false, err
			}
			return false, w.fired(ctx)
		},
	})
}
