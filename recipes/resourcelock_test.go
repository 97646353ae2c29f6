package recipes

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

func TestResourceLock_opensItsSessionWhenItIsAcquiredAndDestroyEndsIt(t *testing.T) {
	ctx := within(t, 20*time.Second)
	var sessions []*Session
	l := NewResourceLock(func(ctx context.Context) (*Session, error) {
		s, err := Open(ctx, servers, Options{Timeout: 4 * time.Second})
		sessions = append(sessions, s)
		return s, err
	}, freshPath())
	if err := l.Destroy(); err != nil {
		t.Error(err)
	}
	for n := 1; n <= 2; n++ {
		for range 2 {
			g, err := l.Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(client.Base(g.Path), "resource_lock_node") {
				t.Errorf("the node is %s", g.Path)
			}
			if err := g.Release(ctx); err != nil {
				t.Error(err)
			}
		}
		if err := l.Destroy(); err != nil {
			t.Error(err)
		}
		if len(sessions) != n || sessions[n-1].Err() == nil {
			t.Errorf("%d sessions after %d lives, the last one ended: %v", len(sessions), n, sessions[n-1].Err())
		}
	}
}

func TestResourceLock_callsBackWhenTheNodeAheadIsGone(t *testing.T) {
	ctx, path := within(t, 20*time.Second), freshPath()
	bound := func(s *Session) *ResourceLock {
		return NewResourceLock(func(context.Context) (*Session, error) { return s, nil }, path)
	}
	waits, tap := tapped(t)
	first, second := bound(open(t, nil)), bound(waits)
	var released atomic.Int32
	second.OnRelease = func() { released.Add(1) }
	g, err := first.Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	won := make(chan error, 1)
	go func() {
		_, err := second.Acquire(ctx)
		won <- err
	}()
	eventually(t, "the second watches the first", func() bool {
		now := tap.Counts()
		return now.InFlight == 0 && now.Requests.Of(wire.Exists) == 1
	})
	if n := released.Load(); n != 0 {
		t.Errorf("called back %d times while the first holds", n)
	}
	if err := g.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-won; err != nil || released.Load() == 0 {
		t.Errorf("called back %d times, %v", released.Load(), err)
	}
}

var variants = []Variant{Parent, Predecessor}

// eachVariant runs a test for both variants.
func eachVariant(t *testing.T, f func(t *testing.T, v Variant)) {
	for _, v := range variants {
		t.Run(string(v), func(t *testing.T) { f(t, v) })
	}
}

func TestLock_hasOneHolderAtATimeInTokenOrder(t *testing.T) {
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

func TestLock_grantsASessionPathAndCzxid(t *testing.T) {
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

func TestLock_isTriedWithoutWaiting(t *testing.T) {
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

func TestLock_keepsNothingOfACancelledWaiter(t *testing.T) {
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

func TestLock_isGrantedToAWaiterWhoseNodeWasDeleted(t *testing.T) {
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

// A waiter whose node an operator has deleted must not hold without one: the second in line, which
// needs no list once the holder has released, and one further back.
func TestLock_waiterWhoseNodeWasDeletedHoldsWithAnother(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		for _, victim := range []int{1, 2} {
			ctx, path := within(t, 20*time.Second), freshPath()
			sessions := []*Session{open(t, nil), open(t, nil), open(t, nil)}
			holder, err := NewLock(sessions[0], path, v).Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			grants := make(chan error, 2)
			for i, s := range sessions[1:] {
				go func() {
					g, err := NewLock(s, path, v).Acquire(ctx)
					if err != nil {
						grants <- err
						return
					}
					stat, err := s.Exists(ctx, g.Path)
					if err == nil && stat == nil {
						err = fmt.Errorf("client %d holds by %s, which does not exist", i+1, g.Path)
					}
					grants <- errors.Join(err, g.Release(ctx))
				}()
				eventually(t, "it waits in line", func() bool { return len(lineAt(t, sessions[0], path, lockPrefix)) == i+2 })
			}
			if err := sessions[0].Delete(ctx, path+"/"+lineAt(t, sessions[0], path, lockPrefix)[victim].name); err != nil {
				t.Fatal(err)
			}
			if err := holder.Release(ctx); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := <-grants; err != nil {
					t.Error(err)
				}
			}
		}
	})
}

func TestLock_passesOverForeignChildren(t *testing.T) {
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
				confirmed := false // by the create, whose reply comes later than others can see its node
				eventually(t, "the second waits", func() bool {
					confirmed = confirmed || s.confirmed()
					return len(lineAt(t, holder, path, lockPrefix)) == 2 && confirmed && row.until(s)
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
