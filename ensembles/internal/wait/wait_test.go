package wait

import (
	"context"
	"errors"
	"testing"
	"time"
)

func TestUntil(t *testing.T) {
	calls := 0
	err := Until(t.Context(), time.Millisecond, func() bool { calls++; return calls == 3 })
	if err != nil || calls != 3 {
		t.Errorf("%d calls, %v", calls, err)
	}
	late := errors.New("not within a moment")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Millisecond, late)
	defer cancel()
	if err := Until(ctx, time.Millisecond, func() bool { return false }); !errors.Is(err, late) {
		t.Errorf("got %v", err)
	}
	if err := Until(ctx, time.Hour, func() bool { return true }); err != nil {
		t.Errorf("a condition that holds when the context has ended: %v", err)
	}
}
