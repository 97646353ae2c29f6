package chaos

import (
	"context"
	"testing"
	"time"
)

func TestWireDelay_delaysOneRequest(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	took := l.askOften(ctx, 0)
	const delay, jitter = 300 * time.Millisecond, 100 * time.Millisecond
	f := parse(t, "wire.delay", "0", "op", "exists", "nth", "2", "delay", delay.String(), "jitter", jitter.String())
	inject(t, f, l.Target)
	cancel()
	late := 0
	for d := range took {
		if d >= delay-jitter {
			late++
		}
	}
	if late != 1 {
		t.Errorf("%d answers were late", late)
	}
}
