// Package wait polls for processes, sockets and servers.
package wait

import (
	"context"
	"time"
)

// Until returns nil as soon as done returns true. It calls done at once and then after every
// interval. If the context ends first, it returns the cause.
func Until(ctx context.Context, interval time.Duration, done func() bool) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}
