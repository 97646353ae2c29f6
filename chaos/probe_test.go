package chaos

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestPoll_returnsTheLastErrorThatCounts(t *testing.T) {
	not := errors.New("not yet")
	n := 0
	must(t, poll(t.Context(), time.Minute, func(context.Context) error {
		if n++; n < 3 {
			return not
		}
		return nil
	}))
	if n != 3 {
		t.Errorf("tried %d times", n)
	}
	err := poll(t.Context(), 10*time.Millisecond, func(context.Context) error { return not })
	if !errors.Is(err, not) || err.Error() != "timed out after 10ms: not yet" {
		t.Errorf("at the limit: %v", err)
	}
	err = poll(t.Context(), 10*time.Millisecond, func(ctx context.Context) error {
		if n++; n < 6 {
			return not
		}
		<-ctx.Done()
		return errors.New("cut short")
	})
	if !errors.Is(err, not) {
		t.Errorf("a last try that was cut short: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := poll(ctx, time.Minute, func(context.Context) error { return not }); !errors.Is(err, context.Canceled) || !errors.Is(err, not) {
		t.Errorf("cancelled: %v", err)
	}
}
