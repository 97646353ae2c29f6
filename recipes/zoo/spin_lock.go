package zoo

import (
	"context"
	"time"
)

// A lock without watches: it asks again and again. It is right, and keeps every
// member busy for as long as anybody waits.
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
