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
