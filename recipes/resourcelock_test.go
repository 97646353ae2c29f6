package recipes

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

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
	bound := func() *ResourceLock {
		s := open(t, nil)
		return NewResourceLock(func(context.Context) (*Session, error) { return s, nil }, path)
	}
	first, second := bound(), bound()
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
	observer := open(t, nil)
	eventually(t, "both stand in line", func() bool { return len(lineAt(t, observer, path, resourcePrefix)) == 2 })
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
