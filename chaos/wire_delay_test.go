package chaos

import (
	"context"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestWireDelay(t *testing.T) {
	l := newLab(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	took := l.askOften(ctx, 0)
	const delay, jitter = 300 * time.Millisecond, 100 * time.Millisecond
	aim := Aim{Client: "0", Op: wire.Exists, Nth: 2, Within: 10 * time.Second}
	inject(t, WireDelay{Aim: aim, Delay: delay, Jitter: jitter}, l.Target)
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
