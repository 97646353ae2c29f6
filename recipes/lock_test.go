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

func TestLock_hasOneHolderAtATimeInTokenOrderAmongForeignChildren(t *testing.T) {
	eachVariant(t, func(t *testing.T, v Variant) {
		ctx, path := within(t, 30*time.Second), freshPath()
		for _, name := range []string{"config", "_c_x", "x-lock-", "0"} {
			must(t, open(t, nil).MakePath(ctx, path+"/"+name))
		}
		var holders atomic.Int32
		var last atomic.Int64
		var all sync.WaitGroup
		for range 8 {
			l := NewLock(open(t, nil), path, v)
			all.Go(func() {
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

// A waiter whose node an operator has deleted must not hold without one: the second in line, which
// needs no list once the holder has released, one further back, or both with their parent.
func TestLock_waiterWhoseNodeWasDeletedHoldsWithAnother(t *testing.T) {
	for _, row := range []struct {
		deleted string
		remove  func(ctx context.Context, s *Session, path string, line []sequentialNode) error
	}{
		{"the second", func(ctx context.Context, s *Session, path string, line []sequentialNode) error {
			return s.Delete(ctx, path+"/"+line[1].name)
		}},
		{"the third", func(ctx context.Context, s *Session, path string, line []sequentialNode) error {
			return s.Delete(ctx, path+"/"+line[2].name)
		}},
		{"everything", func(ctx context.Context, s *Session, path string, _ []sequentialNode) error {
			err := s.RemoveTree(ctx, path)
			for errors.Is(err, zk.ErrNotEmpty) { // a waiter stood in line again before its parent was removed
				err = s.RemoveTree(ctx, path)
			}
			return err
		}},
	} {
		eachVariant(t, func(t *testing.T, v Variant) {
			ctx, path, operator := within(t, 20*time.Second), freshPath(), open(t, nil)
			holder := acquire(t, NewLock(operator, path, v).Acquire)
			var waiters []<-chan outcome[*Grant]
			for n := 2; n <= 3; n++ {
				s := open(t, nil)
				waiters = append(waiters, join(t, operator, path, lockPrefix, n, func(ctx context.Context) (*Grant, error) {
					g, err := NewLock(s, path, v).Acquire(ctx)
					if err != nil {
						return nil, err
					}
					stat, err := s.Exists(ctx, g.Path)
					if err == nil && stat == nil {
						err = fmt.Errorf("it holds by %s, which does not exist", g.Path)
					}
					return g, errors.Join(err, g.Release(ctx))
				}))
			}
			must(t, row.remove(ctx, operator, path, lineAt(t, operator, path, lockPrefix)))
			if err := holder.Release(ctx); err != nil && row.deleted != "everything" {
				t.Fatal(err)
			}
			for i, granted := range waiters {
				if err := (<-granted).err; err != nil {
					t.Errorf("%s was deleted; client %d in line: %v", row.deleted, i+2, err)
				}
			}
		})
	}
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
				t.Parallel()
				path, holder := freshPath(), open(t, nil)
				held := acquire(t, NewLock(holder, path, v).Acquire)
				s, tap := tapped(t)
				won := begin(within(t, 20*time.Second), NewLock(s, path, v).Acquire)
				confirmed := false // by the create, whose reply comes later than others can see its node
				eventually(t, "the second waits", func() bool {
					confirmed = confirmed || s.confirmed()
					return len(lineAt(t, holder, path, lockPrefix)) == 2 && confirmed && row.until(s)
				})
				release(t, held)
				(<-won).must(t)
				if n := tap.Counts().Requests.Of(wire.Delete); n != row.writes {
					t.Errorf("%d writes to confirm the session, want %d", n, row.writes)
				}
			})
		})
	}
}
