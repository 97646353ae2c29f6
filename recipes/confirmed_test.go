package recipes

import (
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

// Whoever has waited for longer than a session timeout asks the leader before it
// believes: its member's answers to pings prove nothing of the session.
func TestLock_confirmsTheSessionAfterALongWait(t *testing.T) {
	for _, row := range []struct {
		about  string
		until  func(s *Session) bool
		writes int64
	}{
		{"a short wait", func(*Session) bool { return true }, 0},
		{"a wait for longer than the session timeout", func(s *Session) bool { return !s.confirmed() }, 1},
	} {
		t.Run(row.about, func(t *testing.T) {
			eachVariant(t, func(t *testing.T, v Variant) {
				ctx, path := within(t, 20*time.Second), freshPath()
				holder := open(t, nil)
				s, tap := tapped(t)
				held, err := NewLock(holder, path, v).Acquire(ctx)
				if err != nil {
					t.Fatal(err)
				}
				won := make(chan error, 1)
				go func() {
					_, err := NewLock(s, path, v).Acquire(ctx)
					won <- err
				}()
				eventually(t, "the second waits", func() bool {
					return len(lineAt(t, holder, path, lockPrefix)) == 2 && row.until(s)
				})
				if err := held.Release(ctx); err != nil {
					t.Fatal(err)
				}
				if err := <-won; err != nil {
					t.Fatal(err)
				}
				if n := tap.Counts().Requests.Of(wire.Delete); n != row.writes {
					t.Errorf("%d writes to confirm the session, want %d", n, row.writes)
				}
			})
		})
	}
}
