package recipes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

var variants = []Variant{Parent, Predecessor}

// eachVariant runs a test for both variants.
func eachVariant(t *testing.T, f func(t *testing.T, v Variant)) {
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) { f(t, v) })
	}
}

func TestLock_oneHolderAtATimeInTokenOrder(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 30*time.Second), freshPath()
		var holders atomic.Int32
		var last atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			s := open(t, nil)
			all.Go(func() {
				l := NewLock(s, path, v)
				for range 10 {
					g, err := l.Acquire(ctx)
					if err != nil {
						t.Error(err)
						return
					}
					if n := holders.Add(1); n != 1 {
						t.Errorf("%d holders", n)
					}
					if before := last.Swap(g.Token); before >= g.Token {
						t.Errorf("token %#x after %#x", g.Token, before)
					}
					holders.Add(-1)
					if err := g.Release(ctx); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	})
}

func TestLock_grantBindsSessionPathAndCzxid(t *testing.T) {
	ctx, s := within(t, 10*time.Second), open(t, nil)
	g, err := NewLock(s, freshPath(), Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	stat, err := s.Exists(ctx, g.Path)
	if err != nil || stat == nil {
		t.Fatalf("the grant's node: %v, %v", stat, err)
	}
	if stat.Czxid != g.Token || stat.EphemeralOwner != g.SessionID || g.SessionID != s.ID() {
		t.Errorf("grant %+v does not fit its node %+v", g, stat)
	}
}

func TestLock_tryAcquire(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 10*time.Second), freshPath()
		a, b := open(t, nil), open(t, nil)
		g, err := NewLock(a, path, v).TryAcquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := NewLock(b, path, v).TryAcquire(ctx); !errors.Is(err, ErrNotAcquired) {
			t.Errorf("trying a held lock: %v", err)
		}
		if left := lineAt(t, b, path, lockPrefix); len(left) != 1 {
			t.Errorf("after a failed try there are %v, want the holder alone", left)
		}
		if err := g.Release(ctx); err != nil {
			t.Fatal(err)
		}
		if _, err := NewLock(b, path, v).TryAcquire(ctx); err != nil {
			t.Errorf("trying a free lock: %v", err)
		}
	})
}

func TestLock_cancelledWaiterLeavesNothing(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 10*time.Second), freshPath()
		a, b := open(t, nil), open(t, nil)
		g, err := NewLock(a, path, v).Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		waiting, cancel := context.WithCancel(ctx)
		gaveUp := make(chan error, 1)
		go func() {
			_, err := NewLock(b, path, v).Acquire(waiting)
			gaveUp <- err
		}()
		eventually(t, "the second stands in line", func() bool { return len(lineAt(t, a, path, lockPrefix)) == 2 })
		cancel()
		if err := <-gaveUp; !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled acquire returned %v", err)
		}
		if left := lineAt(t, b, path, lockPrefix); len(left) != 1 {
			t.Errorf("after the cancelled acquire there are %v, want the holder alone", left)
		}
		if err := g.Release(ctx); err != nil {
			t.Fatal(err)
		}
	})
}

func TestGrant_suspendedThenHeldAgainAfterOwnerCheck(t *testing.T) {
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

func TestGrant_lostWhenItsNodeIsGoneAfterAReconnect(t *testing.T) {
	ctx, other := within(t, 20*time.Second), open(t, nil)
	s, tap := tapped(t)
	g, err := NewLock(s, freshPath(), Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tap.Gate(true)
	tap.Cut()
	eventually(t, "the grant is suspended", func() bool { return g.State() == Suspended })
	if err := other.Delete(ctx, g.Path); err != nil {
		t.Fatal(err)
	}
	tap.Gate(false)
	select {
	case <-g.Lost():
	case <-ctx.Done():
		t.Fatal("an operator deleted the node, and the grant is", g.State())
	}
	if err := g.Release(ctx); !errors.Is(err, ErrGrantLost) {
		t.Errorf("releasing a lost grant: %v", err)
	}
}

func TestGrant_lostWithTheSession(t *testing.T) {
	ctx := within(t, 20*time.Second)
	s, tap := tapped(t)
	g, err := NewLock(s, freshPath(), Parent).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	tap.Gate(true)
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
	if err := tap.Hold(wire.Deaf); err != nil {
		t.Fatal(err)
	}
	defer tap.Thaw()
	if _, err := NewLock(open(t, nil), path, Predecessor).Acquire(ctx); err != nil {
		t.Fatal(err)
	}
	granted := time.Now().UnixNano()
	if at := lost.Load(); at == 0 || at > granted {
		t.Errorf("the next was granted at %d, the frozen holder believed until %d", granted, at)
	}
}

func TestLock_waiterStandsInLineAgainWhenItsNodeIsDeleted(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 20*time.Second), freshPath()
		a, b := open(t, nil), open(t, nil)
		g, err := NewLock(a, path, v).Acquire(ctx)
		if err != nil {
			t.Fatal(err)
		}
		won := make(chan error, 1)
		go func() {
			g, err := NewLock(b, path, v).Acquire(ctx)
			if err == nil {
				err = g.Release(ctx)
			}
			won <- err
		}()
		eventually(t, "the second stands in line", func() bool { return len(lineAt(t, a, path, lockPrefix)) == 2 })
		// The waiter may stand in line again before its parent is removed.
		for err := a.RemoveTree(ctx, path); err != nil; err = a.RemoveTree(ctx, path) {
			if !errors.Is(err, zk.ErrNotEmpty) {
				t.Fatal(err)
			}
		}
		if err := g.Release(ctx); err != nil {
			t.Log("releasing after an operator removed everything:", err)
		}
		if err := <-won; err != nil {
			t.Errorf("the waiter whose node and parent were removed: %v", err)
		}
	})
}

func TestLock_foreignChildrenAreNotInLine(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path, s := within(t, 10*time.Second), freshPath(), open(t, nil)
		for _, name := range []string{"config", "_c_x", "x-lock-", "0"} {
			if err := s.MakePath(ctx, path+"/"+name); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := NewLock(s, path, v).Acquire(ctx); err != nil {
			t.Error(err)
		}
	})
}

// states collects the changes of a grant.
type states struct {
	mu  sync.Mutex
	all []GrantState
}

func (s *states) add(next GrantState) { s.mu.Lock(); defer s.mu.Unlock(); s.all = append(s.all, next) }

func (s *states) String() string { s.mu.Lock(); defer s.mu.Unlock(); return fmt.Sprint(s.all) }
