package recipes

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"zkbench/chaos/wire"
)

// Every protocol step of a recipe is a request. These tests disturb every one of
// them in every way, and ask for the same as always: the recipe gets there as long
// as its session lives, and leaves nothing behind.

// disturbance is a way to disturb one request.
type disturbance struct {
	name string
	rule wire.Rule
}

var disturbances = []disturbance{
	{"the reply is lost", wire.Rule{Act: wire.DropReply}},
	{"the request is lost", wire.Rule{Act: wire.DropRequest}},
	{"the connection is cut before it", wire.Rule{Act: wire.CutBefore}},
	{"the connection is cut after it", wire.Rule{Act: wire.CutAfter}},
	{"it is held for a while", wire.Rule{Act: wire.Delay, Delay: 100 * time.Millisecond}},
}

var opcodes = []wire.Op{wire.Create, wire.GetChildren2, wire.Exists, wire.GetData, wire.Delete, wire.Multi, wire.SetWatches}

// eachStep runs f for every way to disturb every request, until there is no n-th
// request with that opcode to disturb. f returns whether the rule has struck.
func eachStep(t *testing.T, f func(t *testing.T, arm func(*wire.Client) *wire.Shot) (struck bool)) {
	steps := 0
	for _, d := range disturbances {
		for _, op := range opcodes {
			for nth := 1; ; nth++ {
				struck := false
				t.Run(fmt.Sprintf("%s: %v %d", d.name, op, nth), func(t *testing.T) {
					struck = f(t, func(c *wire.Client) *wire.Shot {
						r := d.rule
						r.Op, r.Nth = op, nth
						shot, err := c.Arm(r)
						if err != nil {
							t.Fatal(err)
						}
						return shot
					})
				})
				if !struck {
					break
				}
				steps++
			}
		}
	}
	if steps < len(disturbances) {
		t.Errorf("only %d steps were disturbed: the table does not reach the recipe", steps)
	}
	t.Logf("%d steps disturbed", steps)
}

// fired tells whether a shot has fired so far.
func fired(s *wire.Shot) bool {
	select {
	case <-s.Fired():
		return true
	default:
		return false
	}
}

// struck ends a shot and tells whether it has fired.
func struck(s *wire.Shot) bool { return fired(s) || !s.Disarm() }

func TestLock_disturbedAtEveryStep(t *testing.T) {
	if testing.Short() {
		t.Skip("disturbs every step of every recipe: some minutes")
	}
	eachVariant(t, func(t *testing.T, v Variant) {
		holder := open(t, nil)
		t.Run("alone", func(t *testing.T) {
			eachStep(t, func(t *testing.T, arm func(*wire.Client) *wire.Shot) bool {
				return acquireDisturbed(t, v, holder, nil, arm)
			})
		})
		t.Run("behind another", func(t *testing.T) {
			eachStep(t, func(t *testing.T, arm func(*wire.Client) *wire.Shot) bool {
				return acquireDisturbed(t, v, holder, holder, arm)
			})
		})
		t.Run("behind another, cancelled when it strikes", func(t *testing.T) {
			eachStep(t, func(t *testing.T, arm func(*wire.Client) *wire.Shot) bool {
				return cancelDisturbed(t, v, holder, arm)
			})
		})
	})
}

// acquireDisturbed has a session acquire and release while a rule strikes, behind
// another holder or alone.
func acquireDisturbed(t *testing.T, v Variant, observer, holder *Session, arm func(*wire.Client) *wire.Shot) bool {
	ctx, path := within(t, 20*time.Second), freshPath()
	s, tap := tapped(t)
	if err := observer.MakePath(ctx, path); err != nil {
		t.Fatal(err)
	}
	var first *Grant
	if holder != nil {
		var err error
		if first, err = NewLock(holder, path, v).Acquire(ctx); err != nil {
			t.Fatal(err)
		}
	}
	shot := arm(tap)
	won := make(chan error, 1)
	var g *Grant
	go func() {
		var err error
		g, err = NewLock(s, path, v).Acquire(ctx)
		won <- err
	}()
	if first != nil {
		eventually(t, "both stand in line", func() bool { return len(lineAt(t, observer, path, lockPrefix)) == 2 })
		select {
		case err := <-won:
			t.Fatalf("granted (%v) while another holds", err)
		default:
		}
		if err := first.Release(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-won; err != nil {
		t.Fatalf("acquire: %v", err)
	}
	if stat, err := observer.Exists(ctx, g.Path); err != nil || stat == nil || stat.Czxid != g.Token {
		t.Errorf("the grant says token %#x at %s, the tree %+v (%v)", g.Token, g.Path, stat, err)
	}
	if err := g.Release(ctx); err != nil {
		t.Errorf("release: %v", err)
	}
	if left := lineAt(t, observer, path, lockPrefix); len(left) != 0 {
		t.Errorf("left behind after the release: %v", left)
	}
	return struck(shot)
}

// cancelDisturbed cancels a waiter at the moment when the rule strikes.
func cancelDisturbed(t *testing.T, v Variant, holder *Session, arm func(*wire.Client) *wire.Shot) bool {
	ctx, path := within(t, 20*time.Second), freshPath()
	s, tap := tapped(t)
	first, err := NewLock(holder, path, v).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	shot := arm(tap)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	gaveUp := make(chan error, 1)
	go func() {
		_, err := NewLock(s, path, v).Acquire(waiting)
		gaveUp <- err
	}()
	hit := false
	eventually(t, "the rule strikes, or the waiter waits", func() bool {
		hit = hit || fired(shot)
		return hit || len(lineAt(t, holder, path, lockPrefix)) == 2
	})
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled acquire returned %v", err)
	}
	eventually(t, "the cancelled waiter has left nothing behind", func() bool {
		return len(lineAt(t, holder, path, lockPrefix)) == 1
	})
	if s.Err() != nil {
		t.Errorf("the session did not live through it: %v", s.Err())
	}
	if err := first.Release(ctx); err != nil {
		t.Error(err)
	}
	return hit || struck(shot)
}
