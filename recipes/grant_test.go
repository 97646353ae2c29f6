package recipes

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestGrant_isHeldAgainAfterAnOwnerCheck(t *testing.T) {
	ctx := within(t, 20*time.Second)
	s, tap := tapped(t)
	g, err := NewLock(s, freshPath(), Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var seen states
	g.notify(seen.add)
	tap.Cut()
	eventually(t, "the grant is good again", func() bool { return seen.String() == "[suspended held]" })
	if err := g.Release(ctx); err != nil {
		t.Error(err)
	}
	if err := g.Release(ctx); err != nil {
		t.Error("a second release says something else than the first:", err)
	}
}

func TestGrant_isLostWhenItsNodeIsGoneAfterAReconnect(t *testing.T) {
	ctx, other := within(t, 20*time.Second), open(t, nil)
	s, tap := tapped(t)
	g, err := NewLock(s, freshPath(), Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tap.SetGateClosed(true)
	tap.Cut()
	eventually(t, "the grant is suspended", func() bool { return g.State() == Suspended })
	if err := other.Delete(ctx, g.Path); err != nil {
		t.Fatal(err)
	}
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

func TestGrant_isLostWithTheSession(t *testing.T) {
	ctx := within(t, 20*time.Second)
	s, tap := tapped(t)
	g, err := NewLock(s, freshPath(), Parent).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tap.SetGateClosed(true)
	tap.Cut()
	<-g.Lost()
	if !errors.Is(s.Err(), errDeadline) {
		t.Errorf("cut off for a whole timeout, the session says %v", s.Err())
	}
	if err := g.Release(ctx); !errors.Is(err, ErrGrantLost) || !errors.Is(err, ErrSessionEnded) {
		t.Errorf("releasing a lost grant: %v", err)
	}
}

// A frozen client hears of nothing. Its grant must end by its own clock,
// before the servers give the lock away.
func TestGrant_endsByItsOwnClockWhenFrozen(t *testing.T) {
	ctx, path := within(t, 30*time.Second), freshPath()
	s, tap := tapped(t)
	g, err := NewLock(s, path, Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var lost atomic.Int64
	g.notify(func(state GrantState) {
		if state == Lost {
			lost.Store(time.Now().UnixNano())
		}
	})
	if err := tap.Hold(); err != nil {
		t.Fatal(err)
	}
	defer tap.EndHold()
	if _, err := NewLock(open(t, nil), path, Predecessor).Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	granted := time.Now().UnixNano()
	if at := lost.Load(); at == 0 || at > granted {
		t.Errorf("the next was granted at %d, the frozen holder believed until %d", granted, at)
	}
}

// states collects the changes of a grant.
type states struct {
	mu  sync.Mutex
	all []GrantState
}

func (s *states) add(next GrantState) { s.mu.Lock(); defer s.mu.Unlock(); s.all = append(s.all, next) }

func (s *states) String() string { s.mu.Lock(); defer s.mu.Unlock(); return fmt.Sprint(s.all) }
