package recipes

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

// kind is a recipe that grants.
type kind struct {
	name     string
	prefix   string
	variants []Variant
	bind     func(s *Session, path string, v Variant) acquirer
}

var kinds = []kind{
	{"lock", lockPrefix, variants, func(s *Session, path string, v Variant) acquirer {
		return NewLock(s, path, v).Acquire
	}},
	{"election", candidatePrefix, variants, func(s *Session, path string, v Variant) acquirer {
		return NewElection(s, path, "candidate", v).Campaign
	}},
}

// tutorials are the recipes of others, done again: their formulas are relisting.
var tutorials = []kind{
	{"resource lock", resourcePrefix, variants[1:], func(s *Session, path string, _ Variant) acquirer {
		return resourceLock(s, path).Acquire
	}},
	{"write lock", sessionNamePrefix, variants[1:], func(s *Session, path string, _ Variant) acquirer {
		return NewSessionNameLock(s, path, LockListener{}).Lock
	}},
}

func TestContest_standsADisturbanceAtEveryStep(t *testing.T) {
	for _, k := range slices.Concat(kinds, tutorials) {
		for _, v := range k.variants {
			for _, row := range []struct {
				about string
				play  func(t *testing.T, c *disturbedContender)
			}{
				{"alone", acquiresAlone},
				{"behind another", acquiresBehind},
				{"behind another, cancelled when it hits", isCancelled},
				{"releasing with another behind", releases},
			} {
				t.Run(k.name+"/"+string(v)+"/"+row.about, func(t *testing.T) {
					eachStep(t, func(t *testing.T, d *disturbed) {
						row.play(t, &disturbedContender{d, k.prefix, k.bind(d.s, d.path, v), k.bind(d.helper, d.path, v)})
					})
				})
			}
		}
	}
	t.Run("trying a held lock", func(t *testing.T) { eachStep(t, triesInVain) })
}

// disturbedContender contends, while a step is disturbed, with a helper that nothing disturbs.
type disturbedContender struct {
	*disturbed
	prefix              string
	acquire, byTheOther acquirer
}

func acquiresAlone(t *testing.T, c *disturbedContender) {
	c.arm(t)
	g := acquire(t, c.acquire)
	checkGrant(t, c.helper, c.s, g)
	c.releaseAndCheck(t, g)
}

func acquiresBehind(t *testing.T, c *disturbedContender) {
	first := acquire(t, c.byTheOther)
	c.arm(t)
	won := join(t, c.helper, c.path, c.prefix, 2, c.acquire)
	if len(won) > 0 {
		t.Fatalf("granted (%v) while another holds", (<-won).err)
	}
	release(t, first)
	g := (<-won).must(t)
	checkGrant(t, c.helper, c.s, g)
	c.releaseAndCheck(t, g)
}

// isCancelled cancels a waiter at the moment when the step is disturbed.
func isCancelled(t *testing.T, c *disturbedContender) {
	first := acquire(t, c.byTheOther)
	c.arm(t)
	waiting, cancel := context.WithCancel(c.ctx)
	defer cancel()
	waiter := begin(waiting, c.acquire)
	eventually(t, "the rule hits, or the waiter waits", func() bool {
		return c.fired() || len(lineAt(t, c.helper, c.path, c.prefix)) == 2
	})
	cancel()
	if err := (<-waiter).err; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled acquire returned %v", err)
	}
	standing(t, c.helper, c.path, c.prefix, 1)
	must(t, c.s.Err())
	release(t, first)
}

// releases disturbs a holder that lets go while another waits.
func releases(t *testing.T, c *disturbedContender) {
	g := acquire(t, c.acquire)
	next := join(t, c.helper, c.path, c.prefix, 2, c.byTheOther)
	c.arm(t)
	release(t, g)
	c.releaseAndCheck(t, (<-next).must(t))
}

// triesInVain disturbs TryAcquire while another holds.
func triesInVain(t *testing.T, d *disturbed) {
	first := acquire(t, NewLock(d.helper, d.path, Predecessor).TryAcquire)
	d.arm(t)
	if _, err := NewLock(d.s, d.path, Predecessor).TryAcquire(d.ctx); !errors.Is(err, ErrNotAcquired) {
		t.Errorf("trying a held lock: %v", err)
	}
	standing(t, d.helper, d.path, lockPrefix, 1)
	release(t, first)
}

// madePath is a fresh path that exists, so that making it is no step of the recipe.
func madePath(t *testing.T, s *Session) string {
	t.Helper()
	path := freshPath()
	must(t, s.MakePath(within(t, 10*time.Second), path))
	return path
}

// checkGrant compares a grant with the tree.
func checkGrant(t *testing.T, observer, owner *Session, g *Grant) {
	t.Helper()
	ctx := within(t, 10*time.Second)
	must(t, observer.barrier(ctx, g.Path+"-barrier"))
	stat, err := observer.Exists(ctx, g.Path)
	if err != nil || stat == nil || stat.Czxid != g.Token || stat.EphemeralOwner != owner.ID() || g.SessionID != owner.ID() {
		t.Errorf("the grant says token %#x, session %#x at %s; the tree %+v (%v)", g.Token, g.SessionID, g.Path, stat, err)
	}
}

// releaseAndCheck releases the last grant, twice, and checks that nothing is left.
func (c *disturbedContender) releaseAndCheck(t *testing.T, g *Grant) {
	t.Helper()
	release(t, g)
	release(t, g) // says the same as the first
	if left := lineAt(t, c.helper, c.path, c.prefix); len(left) != 0 {
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
		must(t, err)
	}
	listed, err := c.list(ctx, false)
	must(t, err)
	leave()
	if gone, err := c.allDeleted(ctx, 1, "x", listed.stat); !gone || err != nil {
		t.Errorf("one child less: %v, %v", gone, err)
	}
	must(t, errors.Join(s.Delete(ctx, path), s.MakePath(ctx, path)))
	leave()
	if gone, err := c.allDeleted(ctx, 1, "x", listed.stat); gone || err != nil {
		t.Errorf("another parent: %v, %v", gone, err)
	}
}
