package chaos

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestWireDelay_delaysOneRequest(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	took := l.askOften(ctx, 0)
	const delay, jitter = 300 * time.Millisecond, 100 * time.Millisecond
	exists := request{client: "0", op: wire.Exists, nth: 2, within: 10 * time.Second}
	inject(t, wireDelay{request: exists, delay: delay, jitter: jitter}, l.Target)
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
