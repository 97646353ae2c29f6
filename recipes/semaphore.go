package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

func init() {
	for v, who := range map[Variant]string{
		Parent:      "every waiter watches the parent: each release notifies all (the herd)",
		Predecessor: "the first waiter watches the parent, every other waiter watches its predecessor: each release notifies at most two clients",
	} {
		Register(Subject{
			Name: "semaphore/" + string(v), Recipe: RecipeSemaphore, Variant: v,
			About:    "built-in; " + who + ". At most as many holders as permits while sessions are alive; permits are granted in the order of the waiters' nodes",
			Promises: Promises{Exclusive: true, FIFO: true, Deadline: true, Events: true}, ReportsHeld: true, Writes: true,
			FormulasOf: func(permits int) Formulas { return semaphoreFormulas(v, permits) },
			Open: openContender(func(s *Session, env Env) *contender {
				return &contender{acquire: NewSemaphore(s, env.Parent, env.Permits, v).Acquire}
			}),
		})
	}
}

const semaphorePrefix = "-permit-"

// Semaphore has a number of permits; the clients whose nodes are the first in line hold one permit each.
//
// In the parent variant every waiter watches the parent's children. In the predecessor variant only the first waiter
// does: any holder may release next. Every other waiter watches its predecessor's node, and a waiter that is granted
// writes to its own node, so that the next waiter learns that it is the first now.
type Semaphore struct{ contest contest }

// NewSemaphore returns the semaphore at parent, which is created if it is missing. All clients must
// agree on the number of permits, 1 or more. It sends nothing.
func NewSemaphore(s *Session, parent string, permits int, v Variant) *Semaphore {
	c := contest{s: s, parent: parent, prefix: semaphorePrefix, variant: v, unmarked: true, permits: max(permits, 1)}
	if v == Predecessor {
		c.wait = c.awaitPermit
	}
	return &Semaphore{c}
}

// Acquire waits until it holds a permit. Errors as of Lock.Acquire.
func (l *Semaphore) Acquire(ctx context.Context) (*Grant, error) { return l.contest.acquire(ctx) }

// granted is the data of the node of a client that has waited for its permit.
const granted = "granted"

// awaitPermit returns when a permit is free for the node. listed is the list that showed that none was free.
func (c contest) awaitPermit(ctx context.Context, node string, listed reply) (err error) {
	for ; ; listed = (reply{}) {
		if listed, err = c.listIfEmpty(ctx, listed); err != nil {
			return err
		}
		n, next, err := c.ahead(node, listed.names)
		switch {
		case err != nil:
			return err
		case n < c.permits:
			return c.tellNext(ctx, node, listed.names)
		case n == c.permits:
			_, err = c.awaitChange(ctx, node) // whose turn it is follows from the next list
		default:
			err = c.awaitNode(ctx, c.parent+"/"+next)
		}
		if err != nil {
			return err
		}
	}
}

// awaitNode waits until the predecessor is granted or deleted.
func (c contest) awaitNode(ctx context.Context, path string) error {
	got, err := c.s.get(ctx, path, true)
	switch {
	case errors.Is(err, zk.ErrNoNode), err == nil && string(got.data) == granted:
		return nil // list again
	case err != nil:
		return err
	}
	_, err = c.s.wake(ctx, got.watch)
	return err
}

// tellNext notifies the next waiter, if any, that this node was granted. A waiter that joins
// later needs no notification: its first list shows that it is the first.
func (c contest) tellNext(ctx context.Context, node string, names []string) error {
	waiting := sortedNodes(names, c.prefix)
	if waiting[len(waiting)-1].name == client.Base(node) {
		return nil
	}
	return mapNoNode(c.s.retry(ctx, func() error {
		_, err := c.s.Set(ctx, node, []byte(granted), -1)
		return err
	}))
}

// semaphoreFormulas are the exact formulas of a semaphore.
//
// Predecessor: a release notifies the first waiter, which lists once. If another waits behind it, it
// writes to its own node; that notifies the next one, which lists once to find that it is the first,
// and once more with a watch.
func semaphoreFormulas(v Variant, permits int) Formulas {
	if v == Parent {
		return Formulas{
			Drain: drainHerd(permits),
			Flap:  flapHerd(permits),
			Text: map[string]string{
				"hand-off": "with P permits, N-P-(i-1) clients wait at the i-th release, and each is notified; from the second release on, the client that was granted last is also notified",
				"flap":     "2(N-P)-1: the other waiters are notified when the node is deleted and again when it is created, and the flapping waiter by its own watch",
			},
		}
	}
	return Formulas{
		Drain: func(n, k int) (c Cost) {
			for i := 1; i <= k; i++ {
				c.Deletes++
				if waiting(n, permits, i) > 0 {
					c.Notifications++
					c.Lists++
				}
				if waiting(n, permits, i) > 1 {
					c.Notifications++
					c.Lists += 2
					c.Others++
				}
			}
			return c
		},
		// The first waiter watches the parent: it is notified of both, of its own leave too. A waiter
		// directly behind is notified by the node's deletion.
		Flap: func(n, behind int) (leave, back int64) {
			if waiting(n, permits, 1) == 0 {
				return 0, 0
			}
			return 1 + int64(min(behind, 1)), min(waiting(n, permits, 1)-1, 1)
		},
		Text: map[string]string{
			"hand-off": "2: the first waiter and the next one; 1 if one client waits; 0 if no client waits",
			"flap":     "3: the first waiter is notified when the node is deleted and again when it is created, and the waiter right behind once",
		},
	}
}
