package recipes

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// kind is a recipe that grants.
type kind struct {
	name     string
	prefix   string
	variants []Variant
	bind     func(s *Session, path string, v Variant) func(context.Context) (*Grant, error)
}

var kinds = []kind{
	{"lock", lockPrefix, variants, func(s *Session, path string, v Variant) func(context.Context) (*Grant, error) {
		return NewLock(s, path, v).Acquire
	}},
	{"election", candidatePrefix, variants, func(s *Session, path string, v Variant) func(context.Context) (*Grant, error) {
		return NewElection(s, path, "candidate", v).Campaign
	}},
}

// tutorials are the recipes of others, done again: their formulas are relisting.
var tutorials = []kind{
	{"resource lock", resourcePrefix, variants[1:], func(s *Session, path string, _ Variant) func(context.Context) (*Grant, error) {
		return NewResourceLock(func(context.Context) (*Session, error) { return s, nil }, path).Acquire
	}},
	{"write lock", writeLockPrefix, variants[1:], func(s *Session, path string, _ Variant) func(context.Context) (*Grant, error) {
		return NewWriteLock(s, path, LockListener{}).Lock
	}},
}

func TestContest_standsADisturbanceAtEveryStep(t *testing.T) {
	for _, k := range slices.Concat(kinds, tutorials) {
		for _, v := range k.variants {
			for _, row := range []struct {
				about string
				run   func(t *testing.T, k kind, v Variant, helper *Session, s *step) bool
			}{
				{"alone", acquiresAlone},
				{"behind another", acquiresBehind},
				{"behind another, cancelled when it hits", isCancelled},
				{"releasing with another behind", releases},
			} {
				t.Run(k.name+"/"+string(v)+"/"+row.about, func(t *testing.T) {
					t.Parallel()
					helper := open(t, nil)
					eachStep(t, func(t *testing.T, s *step) bool { return row.run(t, k, v, helper, s) })
				})
			}
		}
	}
	t.Run("trying a held lock", func(t *testing.T) {
		t.Parallel()
		helper := open(t, nil)
		eachStep(t, func(t *testing.T, s *step) bool { return triesInVain(t, helper, s) })
	})
}

// acquiresAlone has a session acquire and release while the step is disturbed.
func acquiresAlone(t *testing.T, k kind, v Variant, helper *Session, step *step) bool {
	ctx, path := within(t, 30*time.Second), madePath(t, helper)
	s, tap := tapped(t)
	step.arm(t, tap)
	g, err := k.bind(s, path, v)(ctx)
	if err != nil {
		t.Fatalf("acquire: %v", err)
	}
	checkGrant(t, helper, s, g)
	releaseAndCheck(t, k, helper, g)
	return step.ended()
}

// acquiresBehind does so while another holds at first.
func acquiresBehind(t *testing.T, k kind, v Variant, helper *Session, step *step) bool {
	ctx, path := within(t, 30*time.Second), madePath(t, helper)
	first, err := k.bind(helper, path, v)(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, tap := tapped(t)
	step.arm(t, tap)
	won := make(chan error, 1)
	var g *Grant
	go func() {
		var err error
		g, err = k.bind(s, path, v)(ctx)
		won <- err
	}()
	eventually(t, "both stand in line", func() bool { return len(lineAt(t, helper, path, k.prefix)) == 2 })
	select {
	case err := <-won:
		t.Fatalf("granted (%v) while another holds", err)
	default:
	}
	if err := first.Release(ctx); err != nil {
		t.Fatal(err)
	}
	if err := <-won; err != nil {
		t.Fatalf("acquire: %v", err)
	}
	checkGrant(t, helper, s, g)
	releaseAndCheck(t, k, helper, g)
	return step.ended()
}

// isCancelled cancels a waiter at the moment when the step is disturbed.
func isCancelled(t *testing.T, k kind, v Variant, helper *Session, step *step) bool {
	ctx, path := within(t, 30*time.Second), madePath(t, helper)
	first, err := k.bind(helper, path, v)(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, tap := tapped(t)
	step.arm(t, tap)
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	gaveUp := make(chan error, 1)
	go func() {
		_, err := k.bind(s, path, v)(waiting)
		gaveUp <- err
	}()
	hit := false
	eventually(t, "the rule hits, or the waiter waits", func() bool {
		hit = hit || step.fired()
		return hit || len(lineAt(t, helper, path, k.prefix)) == 2
	})
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled acquire returned %v", err)
	}
	eventually(t, "the cancelled waiter has left nothing behind", func() bool {
		return len(lineAt(t, helper, path, k.prefix)) == 1
	})
	if s.Err() != nil {
		t.Errorf("the session did not live through it: %v", s.Err())
	}
	if err := first.Release(ctx); err != nil {
		t.Error(err)
	}
	return hit || step.ended()
}

// releases disturbs a holder that lets go while another waits.
func releases(t *testing.T, k kind, v Variant, helper *Session, step *step) bool {
	ctx, path := within(t, 30*time.Second), madePath(t, helper)
	s, tap := tapped(t)
	g, err := k.bind(s, path, v)(ctx)
	if err != nil {
		t.Fatal(err)
	}
	next := make(chan *Grant, 1)
	go func() {
		g, err := k.bind(helper, path, v)(ctx)
		if err != nil {
			t.Error("the next:", err)
		}
		next <- g
	}()
	eventually(t, "both stand in line", func() bool { return len(lineAt(t, helper, path, k.prefix)) == 2 })
	step.arm(t, tap)
	if err := g.Release(ctx); err != nil {
		t.Errorf("release: %v", err)
	}
	if after := <-next; after != nil {
		releaseAndCheck(t, k, helper, after)
	}
	return step.ended()
}

// triesInVain disturbs TryAcquire while another holds.
func triesInVain(t *testing.T, helper *Session, step *step) bool {
	ctx, path := within(t, 30*time.Second), madePath(t, helper)
	first, err := NewLock(helper, path, Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s, tap := tapped(t)
	step.arm(t, tap)
	if _, err := NewLock(s, path, Predecessor).TryAcquire(ctx); !errors.Is(err, ErrNotAcquired) {
		t.Errorf("trying a held lock: %v", err)
	}
	eventually(t, "the try has left nothing behind", func() bool { return len(lineAt(t, helper, path, lockPrefix)) == 1 })
	if err := first.Release(ctx); err != nil {
		t.Error(err)
	}
	return step.ended()
}

// madePath is a fresh path that exists, so that making it is no step of the recipe.
func madePath(t *testing.T, s *Session) string {
	t.Helper()
	path := freshPath()
	if err := s.MakePath(within(t, 10*time.Second), path); err != nil {
		t.Fatal(err)
	}
	return path
}

// checkGrant compares a grant with the tree.
func checkGrant(t *testing.T, observer, owner *Session, g *Grant) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	if err := observer.barrier(ctx, g.Path+"-barrier"); err != nil {
		t.Fatal(err)
	}
	stat, err := observer.Exists(ctx, g.Path)
	if err != nil || stat == nil || stat.Czxid != g.Token || stat.EphemeralOwner != owner.ID() || g.SessionID != owner.ID() {
		t.Errorf("the grant says token %#x, session %#x at %s; the tree %+v (%v)", g.Token, g.SessionID, g.Path, stat, err)
	}
}

// releaseAndCheck releases the last grant and checks that nothing is left.
func releaseAndCheck(t *testing.T, k kind, observer *Session, g *Grant) {
	t.Helper()
	if err := g.Release(within(t, 20*time.Second)); err != nil {
		t.Errorf("release: %v", err)
	}
	path := g.Path[:len(g.Path)-len(client.Base(g.Path))-1]
	if left := lineAt(t, observer, path, k.prefix); len(left) != 0 {
		t.Errorf("left behind after the release: %v", left)
	}
}

// A parent that was deleted and created again is another one: its counters say nothing about the nodes ahead.
func TestContest_allGoneIsNotSeenAcrossParents(t *testing.T) {
	ctx, s := within(t, 20*time.Second), open(t, nil)
	path := madePath(t, s)
	c := contest{s: s, parent: path, prefix: lockPrefix, variant: Predecessor}
	leave := func() {
		node, err := s.Create(ctx, path+"/x"+lockPrefix, nil, zk.FlagSequence)
		if err == nil {
			err = s.Delete(ctx, node)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	listed, err := c.list(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	leave()
	if gone, err := c.allDeleted(ctx, 1, "x", listed.stat); !gone || err != nil {
		t.Errorf("one child less: %v, %v", gone, err)
	}
	if err := errors.Join(s.Delete(ctx, path), s.MakePath(ctx, path)); err != nil {
		t.Fatal(err)
	}
	leave()
	if gone, err := c.allDeleted(ctx, 1, "x", listed.stat); gone || err != nil {
		t.Errorf("another parent: %v, %v", gone, err)
	}
}
