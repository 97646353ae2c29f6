package recipes

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

func TestResourceLock_opensItsSessionWhenItIsAcquiredAndDestroyEndsIt(t *testing.T) {
	var sessions []*Session
	l := NewResourceLock(func(ctx context.Context) (*Session, error) {
		s, err := Open(ctx, servers, Options{Timeout: 4 * time.Second})
		sessions = append(sessions, s)
		return s, err
	}, freshPath())
	must(t, l.Destroy())
	for n := 1; n <= 2; n++ {
		for range 2 {
			g := acquire(t, l.Acquire)
			if !strings.HasPrefix(client.Base(g.Path), "resource_lock_node") {
				t.Errorf("the node is %s", g.Path)
			}
			release(t, g)
		}
		must(t, l.Destroy())
		if len(sessions) != n || sessions[n-1].Err() == nil {
			t.Errorf("%d sessions after %d lives, the last one ended: %v", len(sessions), n, sessions[n-1].Err())
		}
	}
}

func TestResourceLock_callsBackWhenTheNodeAheadIsGone(t *testing.T) {
	path, first := freshPath(), open(t, nil)
	g := acquire(t, resourceLock(first, path).Acquire)
	waits, tap := tapped(t)
	second := resourceLock(waits, path)
	var released atomic.Int32
	second.OnRelease = func() { released.Add(1) }
	won := join(t, first, path, resourcePrefix, 2, second.Acquire)
	eventually(t, "the second watches the first", func() bool {
		now := tap.Counts()
		return now.InFlight == 0 && now.Requests.Of(wire.Exists) == 1
	})
	if n := released.Load(); n != 0 {
		t.Errorf("called back %d times while the first holds", n)
	}
	release(t, g)
	if (<-won).must(t); released.Load() == 0 {
		t.Error("not called back")
	}
}

// resourceLock returns a lock on a session that is open.
func resourceLock(s *Session, path string) *ResourceLock {
	return NewResourceLock(func(context.Context) (*Session, error) { return s, nil }, path)
}
