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
	// member finds too few members, because the others have begun to leave, and waits for them to enter,
	// while they wait for it to leave.
	registerShared(recipes.RecipeBarrier, "barrier-counts-again", "passes when it finds enough members, although some of them may have left", false, steps{
		order: neverFirst,
		wait: func(ctx context.Context, l *lockClient, _, _ string) (turn bool, err error) {
			return awaitChildren(ctx, l, func(names []string) bool { return members(names) >= l.env.Parties })
		},
		release: awaitOthers,
	})

	// The documentation does not name the client that deletes "ready". If no client does, the next generation
	// passes before it is complete.
	registerShared(recipes.RecipeBarrier, "barrier-ready-stays", "leaves the node \"ready\" behind for the next generation", false, steps{
		order: neverFirst, wait: awaitReady, release: awaitOthers,
	})

	// A barrier that is used like a latch: its members leave without waiting for each other.
	registerShared(recipes.RecipeBarrier, "barrier-leaves-at-once", "leaves before the others do", false, steps{
		order: neverFirst, wait: awaitReady,
		release: func(ctx context.Context, l *lockClient, path string) error {
			if err := l.c.remove(ctx, path); err != nil {
				return err
			}
			names, err := l.c.list(ctx, l.env.Parent)
			if err == nil && members(names) == 0 {
				err = l.c.remove(ctx, l.env.Parent+readyNode)
			}
			return err
		},
	})
}

// readyNode is the node of ZooKeeper's double barrier: it exists once a generation is complete.
const readyNode = "/ready"

func members(names []string) int {
	return len(slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.Contains(n, marker) }))
}

// awaitReady waits for the node ready, or creates it if all members are present.
func awaitReady(ctx context.Context, l *lockClient, _, _ string) (turn bool, err error) {
	w, err := l.c.watchNode(ctx, l.env.Parent+readyNode)
	if err != nil || w.found {
		return w.found, err
	}
	names, err := l.c.list(ctx, l.env.Parent)
	if err != nil {
		return false, err
	}
	if members(names) < l.env.Parties {
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
		gone, err := awaitChildren(ctx, l, func(names []string) bool { return members(names) == 0 })
		if gone || err != nil {
			return err
		}
	}
}
