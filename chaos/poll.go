package chaos

import (
	"context"
	"fmt"
	"time"
)

func texts[T any](items []T, text func(T) string) []string {
	all := make([]string, len(items))
	for i, item := range items {
		all[i] = text(item)
	}
	return all
}

// pollEvery is the interval of poll: small against the 20 ms within which a fault must take effect.
const pollEvery = 2 * time.Millisecond

// poll calls try until it returns nil. At the end of the limit or the context it returns try's last error and why.
func poll(ctx context.Context, limit time.Duration, try func(context.Context) error) error {
	return pollAt(ctx, pollEvery, limit, try)
}

func pollAt(ctx context.Context, every, limit time.Duration, try func(context.Context) error) error {
	within, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("timed out after %v", limit))
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	var last error
	for {
		err := try(within)
		if err == nil {
			return nil
		}
		// An error of a try that the limit cut short does not show the condition. A network
		// deadline may fire before the context's own.
		if end, _ := within.Deadline(); last == nil || within.Err() == nil && time.Now().Before(end) {
			last = err
		}
		select {
		case <-tick.C:
		case <-within.Done():
			return fmt.Errorf("%w: %w", context.Cause(within), last)
		}
	}
}
