package recipes

import (
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// Three stand in line. The third is granted in the end, however the two before it went;
// only where the servers' own word does not say that a holder let go, it lists.
func TestMark_sparesTheListOnlyAfterARelease(t *testing.T) {
	for _, row := range []struct {
		about string
		perms int32 // of the parent
		leave func(t *testing.T, first, second *Grant, s *Session)
		lists int64
	}{
		{"the one before released", zk.PermAll, func(t *testing.T, _, second *Grant, _ *Session) { release(t, second) }, 0},
		{"the one before lost its session", zk.PermAll, func(t *testing.T, _, _ *Grant, s *Session) { s.Close() }, 1},
		{"nobody may write at the parent", zk.PermAll &^ zk.PermWrite, func(t *testing.T, _, second *Grant, _ *Session) { release(t, second) }, 1},
	} {
		t.Run(row.about, func(t *testing.T) {
			ctx, path := within(t, 20*time.Second), freshPath()
			s := open(t, nil)
			if _, err := s.conn.Create(path, nil, 0, []zk.ACL{{Perms: row.perms, Scheme: "world", ID: "anyone"}}); err != nil {
				t.Fatal(err)
			}
			first, err := NewLock(s, path, Predecessor).Acquire(ctx)
			if err != nil {
				t.Fatal(err)
			}
			middle := open(t, nil)
			second := standing(t, s, path, middle, 2)
			last, tap := tapped(t)
			third := standing(t, s, path, last, 3)
			eventually(t, "the third watches the one before it", func() bool {
				now := tap.Counts()
				return now.InFlight == 0 && now.Requests.Of(wire.GetData) == 1
			})
			before := tap.Counts()
			release(t, first)
			row.leave(t, first, <-second, middle)
			if g := <-third; g == nil {
				return
			}
			if got := tap.Counts().Sub(before).Requests.Of(wire.GetChildren2); got != row.lists {
				t.Errorf("the third listed %d times, want %d", got, row.lists)
			}
		})
	}
}

// A waiter that gives up leaves no mark: whoever watched it must not take its going for
// a grant.
func TestMark_isNotLeftByAWaiter(t *testing.T) {
	ctx, path := within(t, 20*time.Second), freshPath()
	s := open(t, nil)
	first, err := NewLock(s, path, Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	middle := open(t, nil)
	standing(t, s, path, middle, 2)
	last, tap := tapped(t)
	third := standing(t, s, path, last, 3)
	watches := func(reads int64) {
		eventually(t, "the third watches the one before it", func() bool {
			now := tap.Counts()
			return now.InFlight == 0 && now.Requests.Of(wire.GetData) == reads
		})
	}
	watches(1)
	middle.Close()
	watches(3) // the mark, and the first
	release(t, first)
	g := <-third
	if g == nil {
		return
	}
	if mark, _, err := s.Get(ctx, path); err != nil || string(mark) != client.Base(first.Path) {
		t.Errorf("the mark is %q, %v, want the name of the one released, %q", mark, err, client.Base(first.Path))
	}
}

func release(t *testing.T, g *Grant) {
	t.Helper()
	if g == nil {
		t.Fatal("not granted")
	}
	if err := g.Release(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// standing has the session stand in line, and returns once n do.
func standing(t *testing.T, looks *Session, path string, s *Session, n int) <-chan *Grant {
	t.Helper()
	ctx, granted := within(t, 20*time.Second), make(chan *Grant, 1)
	go func() {
		defer close(granted)
		g, err := NewLock(s, path, Predecessor).Acquire(ctx)
		if err != nil && s.Err() == nil {
			t.Error(err)
		}
		granted <- g
	}()
	eventually(t, "it stands in line", func() bool { return len(lineAt(t, looks, path, lockPrefix)) == n })
	return granted
}
