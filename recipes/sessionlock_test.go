package recipes

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// The listener is notified, nodes have the session's ID in their names and its ACL, and a Lock of a session
// that has ended says so every time: what it has left behind goes with its session, so that the next one need
// not wait for its removal.
func TestSessionNameLock(t *testing.T) {
	ctx, path := within(t, 20*time.Second), madePath(t, open(t, nil))
	s := openWith(t, Options{Timeout: 4 * time.Second, ACL: zk.WorldACL(zk.PermRead | zk.PermDelete)})
	var told []string
	l := NewSessionNameLock(s, path, LockListener{
		LockAcquired: func() { told = append(told, "acquired") },
		LockReleased: func() { told = append(told, "released") },
	})
	for range 2 {
		g := acquire(t, l.Lock)
		if want := fmt.Sprintf("x-%d-", s.ID()); !strings.HasPrefix(client.Base(g.Path), want) {
			t.Errorf("the node is %s, want %s...", g.Path, want)
		}
		if _, err := s.Set(ctx, g.Path, nil, -1); !errors.Is(err, zk.ErrNoAuth) {
			t.Errorf("writing to a node that may only be read: %v", err)
		}
		must(t, l.Unlock(ctx, g))
	}
	if want := []string{"acquired", "released", "acquired", "released"}; !slices.Equal(told, want) {
		t.Errorf("the listener was notified of %q", told)
	}
	must(t, s.Close())
	for range 3 {
		if g, err := l.Lock(ctx); !errors.Is(err, ErrSessionEnded) {
			t.Fatalf("got %v, %v", g, err)
		}
	}
}
