package zoo

import "context"

// "When you are notified, it is your turn": the recipe requires another list, which many omit. The
// node ahead may have been deleted because its owner died while it waited.
func init() {
	contestant("watch-then-never-relist", "treats the removal of its predecessor as its grant, without listing the other waiters", steps{
		wait: func(ctx context.Context, l *line, ours, ahead string) (bool, error) {
			w, err := l.c.watchNode(ctx, l.env.Parent+"/"+ahead)
			if err != nil || !w.found {
				return false, err
			}
			err = w.fired(ctx)
			return err == nil, err
		},
	})
}
