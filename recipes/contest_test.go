package recipes

import (
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes/internal/client"
)

// threeInLine is a line of which the first holds, and each of the others watches the one before it.
type threeInLine struct {
	first         *Grant
	second, third <-chan outcome[*Grant]
	s, middle     *Session // of the first and the second
	watches       func(reads int64)
}

// The third is granted in the end, however the two before it went; only where the servers' own word does
// not say that a holder let go, it lists.
func TestMark_sparesTheListOnlyAfterARelease(t *testing.T) {
	released := func(t *testing.T, l *threeInLine) {
		release(t, l.first)
		release(t, (<-l.second).must(t))
	}
	for _, row := range []struct {
		about string
		perms int32 // of the parent
		leave func(t *testing.T, l *threeInLine)
		lists int64
	}{
		{"the one before released", zk.PermAll, released, 0},
		{"nobody may write at the parent", zk.PermAll &^ zk.PermWrite, released, 1},
		{"the one before lost its session", zk.PermAll, func(t *testing.T, l *threeInLine) {
			release(t, l.first)
			(<-l.second).must(t)
			l.middle.Close()
		}, 1},
		{"the one before gave up, which must not be taken for a grant", zk.PermAll, func(t *testing.T, l *threeInLine) {
			l.middle.Close()
			l.watches(3) // the mark, and the first
			release(t, l.first)
			mark, _, err := l.s.Get(t.Context(), l.first.markAt)
			if err != nil || string(mark) != client.Base(l.first.Path) {
				t.Errorf("the mark is %q, %v, want the name of the one released, %q", mark, err, client.Base(l.first.Path))
			}
		}, 1},
	} {
		t.Run(row.about, func(t *testing.T) {
			path, l := freshPath(), &threeInLine{s: open(t, nil), middle: open(t, nil)}
			_, err := l.s.conn.Create(path, nil, 0, []zk.ACL{{Perms: row.perms, Scheme: "world", ID: "anyone"}})
			must(t, err)
			l.first = acquire(t, NewLock(l.s, path, Predecessor).Acquire)
			l.second = join(t, l.s, path, lockPrefix, 2, NewLock(l.middle, path, Predecessor).Acquire)
			last, tap := tapped(t)
			l.third = join(t, l.s, path, lockPrefix, 3, NewLock(last, path, Predecessor).Acquire)
			l.watches = func(reads int64) {
				eventually(t, "the third watches the one before it", func() bool {
					now := tap.Counts()
					return now.InFlight == 0 && now.Requests.Of(wire.GetData) == reads
				})
			}
			l.watches(1)
			before := tap.Counts()
			row.leave(t, l)
			(<-l.third).must(t)
			if got := tap.Counts().Sub(before).Requests.Of(wire.GetChildren2); got != row.lists {
				t.Errorf("the third listed %d times, want %d", got, row.lists)
			}
		})
	}
}
