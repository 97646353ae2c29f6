package zoo

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/recipes"
)

func init() {
	// The recipe makes a reader wait only for the writers ahead of it. A writer that is implemented like a
	// reader, from the same template, holds while readers hold.
	registerShared(recipes.RecipeRWLock, "rwlock-writers-only", "a writer waits for writers only", true, steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			return byNumber(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n != ours && !writes(n) }), ours)
		},
	})

	// A reader waits only for a writer that holds. While readers hold, new readers therefore overtake the
	// waiting writers: as long as new readers arrive, no writer is granted.
	registerShared(recipes.RecipeRWLock, "rwlock-readers-first", "a reader waits only for a writer that holds the lock", true, steps{
		order: func(names []string, ours string) (first bool, predecessor string) {
			first, predecessor = byMode(names, ours)
			if writes(ours) || first {
				return first, predecessor
			}
			for _, n := range names {
				if alone, _ := byNumber(names, n); alone {
					return !writes(n), n
				}
			}
			return false, predecessor
		},
		wait: awaitParent,
	})

	// "When you are notified, it is your turn": a reader watches its predecessor, which may be a waiting reader. If that reader gives up, this one mistakes the deletion for the writer's release.
	registerShared(recipes.RecipeRWLock, "rwlock-never-relist", "watches its predecessor, and treats its removal as its grant", true, steps{
		order: func(names []string, ours string) (first bool, ahead string) {
			first, _ = byMode(names, ours)
			_, ahead = byNumber(names, ours)
			return first, ahead
		},
		wait: awaitRemoval,
	})

	// A semaphore that first counts the nodes and then creates its own, without reserving a place before: two
	// clients that count at the same time both take the last permit.
	registerShared(recipes.RecipeSemaphore, "semaphore-count-then-create", "counts the permits that are held, and creates its own node afterwards", false, steps{
		create: func(ctx context.Context, l *lockClient) (string, error) {
			for {
				free, err := awaitChildren(ctx, l, func(names []string) bool { return len(names) < l.env.Permits })
				if err != nil {
					return "", err
				}
				if free {
					return createOnce(ctx, l)
				}
			}
		},
		order: alwaysFirst,
	})

	// Like CURATOR-678, in a semaphore: a permit whose delete failed is released for its owner, and held for
	// all others until the session ends.
	registerShared(recipes.RecipeSemaphore, "semaphore-permit-not-returned", "forgets a permit although the delete failed", false, steps{
		order: neverFirst, wait: awaitPermit, release: releaseOnce,
	})

	// Semaphores made from a lock: any holder may release first, but a waiter is notified only when one node is deleted.
	// With two permits, the first waiter watches the younger holder, or the older one.
	waiting := func(name, about string, places func(permits int) int) {
		registerShared(recipes.RecipeSemaphore, name, about, false, steps{
			order: func([]string, string) (first bool, ahead string) { return false, "" },
			wait: func(ctx context.Context, l *lockClient, ours, _ string) (turn bool, err error) {
				names, err := l.steps.list(ctx, l)
				n := countAhead(names, ours)
				if err != nil || n < l.env.Permits {
					return err == nil, err
				}
				i := slices.IndexFunc(names, func(name string) bool { return countAhead(names, name) == n-places(l.env.Permits) })
				return awaitNode(ctx, l, ours, names[i])
			},
		})
	}
	waiting("semaphore-watches-predecessor", "a waiter watches only the node before its own", func(int) int { return 1 })
	waiting("semaphore-watches-one-holder", "a waiter watches only the node as many places ahead as there are permits",
		func(permits int) int { return permits })
}

// Suffixes of the random ID in the names of a read-write lock's nodes.
const (
	readMark  = "-r"
	writeMark = "-w"
)

func writes(name string) bool { return strings.Contains(name, writeMark+marker) }

// byMode is the correct order: a reader waits for all writers ahead of it, a writer for all nodes ahead of it.
func byMode(names []string, ours string) (first bool, ahead string) {
	return byNumber(slices.DeleteFunc(slices.Clone(names), func(n string) bool {
		return n != ours && !writes(n) && !writes(ours)
	}), ours)
}

// awaitPermit is the correct wait of a semaphore: it is a node's turn when fewer nodes than permits are ahead.
func awaitPermit(ctx context.Context, l *lockClient, ours, _ string) (turn bool, err error) {
	return awaitChildren(ctx, l, func(names []string) bool { return countAhead(names, ours) < l.env.Permits })
}

func countAhead(names []string, ours string) (ahead int) {
	for _, n := range names {
		if number(n)-number(ours) < 0 {
			ahead++
		}
	}
	return ahead
}

func init() {
	// The barrier of ZooKeeper's tutorial (SyncPrimitive.Barrier) counts again after every notification. A slow
	// party finds too few parties, because the others have begun to leave, and waits for them to enter,
	// while they wait for it to leave.
	registerShared(recipes.RecipeBarrier, "barrier-counts-again", "counts the parties again after each notification: a slow party finds too few once others leave, and never passes", false, steps{
		order: neverFirst,
		wait: func(ctx context.Context, l *lockClient, _, _ string) (turn bool, err error) {
			return awaitChildren(ctx, l, func(names []string) bool { return countParties(names) >= l.env.Parties })
		},
		release: awaitOthers,
	})

	// The documentation does not name the client that deletes "ready". If no client does, the next generation
	// passes before it is complete.
	registerShared(recipes.RecipeBarrier, "barrier-ready-stays", "leaves the node \"ready\" behind for the next generation", false, steps{
		order: neverFirst, wait: awaitReady, release: awaitOthers,
	})

	// A barrier that is used like a latch: its parties leave without waiting for each other.
	registerShared(recipes.RecipeBarrier, "barrier-leaves-at-once", "leaves before the others do", false, steps{
		order: neverFirst, wait: awaitReady,
		release: func(ctx context.Context, l *lockClient, path string) error {
			if err := l.c.remove(ctx, path); err != nil {
				return err
			}
			names, err := l.c.list(ctx, l.env.Parent)
			if err == nil && countParties(names) == 0 {
				err = l.c.remove(ctx, l.env.Parent+readyNode)
			}
			return err
		},
	})
}

// readyNode is the node of ZooKeeper's double barrier: it exists once a generation is complete.
const readyNode = "/ready"

func countParties(names []string) int {
	return len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.Contains(n, marker) }))
}

// awaitReady waits for the node ready, or creates it if all parties are present.
func awaitReady(ctx context.Context, l *lockClient, _, _ string) (turn bool, err error) {
	w, err := l.c.watchNode(ctx, l.env.Parent+readyNode)
	if err != nil || w.found {
		return w.found, err
	}
	names, err := l.c.list(ctx, l.env.Parent)
	if err != nil {
		return false, err
	}
	if countParties(names) < l.env.Parties {
		return false, w.wait(ctx)
	}
	_, err = l.c.create(context.WithoutCancel(ctx), l.env.Parent+readyNode, nil, 0)
	if errors.Is(err, zk.ErrNodeExists) {
		return false, nil
	}
	return err == nil, err
}

// awaitOthers removes the member's node, and returns when no member is left.
func awaitOthers(ctx context.Context, l *lockClient, path string) error {
	if err := l.c.remove(ctx, path); err != nil {
		return err
	}
	for {
		gone, err := awaitChildren(ctx, l, func(names []string) bool { return countParties(names) == 0 })
		if gone || err != nil {
			return err
		}
	}
}
