package chaos

import (
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestSessionFreeze_keepsRequestsUntilItHeals(t *testing.T) {
	for _, mode := range []string{"deaf", "stall"} {
		t.Run(mode, func(t *testing.T) {
			l := connect(t, shared(t), 1, 10*time.Second)
			e := inject(t, parse(t, "session.freeze", Holder, "mode", mode), l.Target)
			done := make(chan error, 1)
			go func() {
				_, _, err := l.conns[0].Exists("/")
				done <- err
			}()
			within(t, 5*time.Second, "the request is kept back", func() bool { return l.Clients[0].Counts().Queued > 0 })
			select {
			case err := <-done:
				t.Errorf("a frozen client got an answer: %v", err)
			default:
			}
			must(t, e.Heal(t.Context()))
			must(t, e.Heal(t.Context()))
			must(t, <-done)
		})
	}
}

func TestSessionFreeze_isRefusedTwice(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	inject(t, parse(t, "session.freeze", "0", "mode", "stall"), l.Target)
	if _, err := parse(t, "session.freeze", "0", "mode", "stall").Inject(t.Context(), l.Target); !errors.Is(err, wire.ErrHeld) {
		t.Errorf("got %v", err)
	}
	if err := l.Clients[0].Hold(wire.Deaf); !errors.Is(err, wire.ErrHeld) {
		t.Errorf("the second one ended the first one's hold: %v", err)
	}
}
