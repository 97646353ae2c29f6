package recipes

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"
)

func TestGrant_isLostWhenItsNodeIsGoneAfterAReconnect(t *testing.T) {
	ctx, other := within(t, 20*time.Second), open(t, nil)
	s, tap := tapped(t)
	g := acquire(t, NewLock(s, freshPath(), Predecessor).Acquire)
	tap.SetGateClosed(true)
	tap.Cut()
	eventually(t, "the grant is suspended", func() bool { return g.State() == Suspended })
	must(t, other.Delete(ctx, g.Path))
	tap.SetGateClosed(false)
	select {
	case <-g.Lost():
	case <-ctx.Done():
		t.Fatal("an operator deleted the node, and the grant is", g.State())
	}
	if err := g.Release(ctx); !errors.Is(err, ErrGrantLost) {
		t.Errorf("releasing a lost grant: %v", err)
	}
}

// A frozen client hears of nothing. Its grant must end by its own clock,
// before the servers give the lock away.
func TestGrant_endsByItsOwnClockWhenFrozen(t *testing.T) {
	path := freshPath()
	s, tap := tapped(t)
	g := acquire(t, NewLock(s, path, Predecessor).Acquire)
	var lost atomic.Int64
	g.notify(func(state GrantState) {
		if state == Lost {
			lost.Store(time.Now().UnixNano())
		}
	})
	must(t, tap.Hold())
	defer tap.EndHold()
	acquire(t, NewLock(open(t, nil), path, Predecessor).Acquire)
	granted := time.Now().UnixNano()
	if at := lost.Load(); at == 0 || at > granted {
		t.Errorf("the next was granted at %d, the frozen holder believed until %d", granted, at)
	}
}
