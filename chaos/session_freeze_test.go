package chaos

import (
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestSessionFreeze_keepsRequestsUntilItHeals(t *testing.T) {
	for _, row := range []struct {
		name string
		mode wire.HoldMode
	}{{"deaf", wire.Deaf}, {"stalled", wire.Stall}} {
		t.Run(row.name, func(t *testing.T) {
			l := connect(t, shared(t), 1, 10*time.Second)
			e := inject(t, sessionFreeze{client: Holder, mode: row.mode}, l.Target)
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
	inject(t, sessionFreeze{client: "0"}, l.Target)
	if _, err := (sessionFreeze{client: "0"}).inject(t.Context(), l.Target); !errors.Is(err, wire.ErrHeld) {
		t.Errorf("got %v", err)
	}
	if err := l.Clients[0].Hold(wire.Deaf); !errors.Is(err, wire.ErrHeld) {
		t.Errorf("the second one ended the first one's hold: %v", err)
	}
}
