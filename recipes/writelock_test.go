package recipes

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

func TestWriteLock_namesItsNodeByTheSessionAndTellsItsListener(t *testing.T) {
	ctx, s := within(t, 20*time.Second), open(t, nil)
	var told []string
	l := NewWriteLock(s, freshPath(), LockListener{
		LockAcquired: func() { told = append(told, "acquired") },
		LockReleased: func() { told = append(told, "released") },
	})
	for range 2 {
		g, err := l.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf("x-%d-", s.ID()); !strings.HasPrefix(client.Base(g.Path), want) {
			t.Errorf("the node is %s, want %s...", g.Path, want)
		}
		if err := l.Unlock(ctx, g); err != nil {
			t.Error(err)
		}
	}
	if got := strings.Join(told, " "); got != "acquired released acquired released" {
		t.Errorf("the listener heard %s", got)
	}
}

// What a Lock has left behind goes with its session, so that the next one need not wait
// for its removal.
func TestWriteLock_ofASessionThatHasEndedSaysSoEveryTime(t *testing.T) {
	ctx, s := within(t, 20*time.Second), open(t, nil)
	l := NewWriteLock(s, freshPath(), LockListener{})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if g, err := l.Lock(ctx); !errors.Is(err, ErrSessionEnded) {
			t.Fatalf("got %v, %v", g, err)
		}
	}
}

func TestWriteLock_createsItsNodesWithTheSessionsACL(t *testing.T) {
	ctx, path := within(t, 20*time.Second), freshPath()
	if err := open(t, nil).MakePath(ctx, path); err != nil {
		t.Fatal(err)
	}
	s, err := Open(ctx, servers, Options{Timeout: 4 * time.Second, ACL: zk.WorldACL(zk.PermRead | zk.PermDelete)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	g, err := NewWriteLock(s, path, LockListener{}).Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Set(ctx, g.Path, nil, -1); !errors.Is(err, zk.ErrNoAuth) {
		t.Errorf("writing to a node that may only be read: %v", err)
	}
}

func TestWriteLock_findsItsNodeAgainWhenTheReplyIsLost(t *testing.T) {
	ctx, path := within(t, 30*time.Second), freshPath()
	s, tap := tapped(t)
	if err := s.MakePath(ctx, path); err != nil {
		t.Fatal(err)
	}
	lost, err := tap.Arm(wire.Rule{Op: wire.Create, Nth: 1, Act: wire.DropReply})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lost.Release)
	g, err := NewWriteLock(s, path, LockListener{}).Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	checkGrant(t, open(t, nil), s, g)
	if left := lineAt(t, s, path, writeLockPrefix); len(left) != 1 {
		t.Errorf("after one lock there are %v", left)
	}
}
