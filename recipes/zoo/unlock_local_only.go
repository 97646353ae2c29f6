package zoo

import "context"

// The shape of CURATOR-678: the state in memory is cleared before the delete, and a failed delete
// is not retried. The lock is free for its owner, and held for all others until the session ends.
func init() {
	contestant("unlock-local-only", "forgets the lock although the delete failed", steps{
		release: func(ctx context.Context, l *line, path string) error {
			return outcome(l.c.delete(ctx, path))
		},
	})
}
