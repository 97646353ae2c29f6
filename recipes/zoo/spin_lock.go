package zoo

import (
	"context"
	"time"
)

// A lock without watches: it reads repeatedly. It is correct, and keeps every member busy while any
// client waits.
func init() {
	contestant("spin-lock", "polls the children instead of watching", steps{
		wait: func(ctx context.Context, _ *line, _, _ string) (bool, error) {
			select {
			case <-time.After(time.Millisecond):
				return false, nil
			case <-ctx.Done():
				return false, ctx.Err()
			}
		},
	})
}
