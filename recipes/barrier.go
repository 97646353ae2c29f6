package recipes

import (
	"context"
	"errors"
	"slices"
	"strconv"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

func init() {
	for v, behavior := range map[Variant]string{
		Parent:      "every party watches the parent: each arrival and each departure notifies all parties (the herd)",
		Predecessor: "one write admits all parties; to leave, the first party waits until the others have deleted their nodes, and the others wait until the first has deleted its own; a change notifies only parties that can continue",
	} {
		Register(Subject{
			Name: "barrier/" + string(v), Recipe: RecipeBarrier, Variant: v,
			About:    "built-in double barrier; " + behavior + ". No client passes before all have entered, or leaves before all are leaving",
			Promises: Promises{Exclusive: true, Deadline: true, Events: true}, ReportsHeld: true, Formulas: barrierFormulas[v],
			Open: openContender(func(s *Session, env Env) *contender {
				b := NewBarrier(s, env.Parent, env.Parties, v)
				return &contender{acquire: b.Enter, release: b.Leave}
			}),
		})
	}
}

// barrierPrefix separates the random ID and the sequence number in the names of members' nodes.
const barrierPrefix = "-member-"

// Barrier is the recipe "Double Barriers" of ZooKeeper's documentation: a number of clients, the
// parties, enter together and leave together, generation after generation.
//
// A member is an ephemeral sequential node. The member that completes a generation opens the
// barrier: it writes its own number into the parent's data. A member with that number or a lower one
// has passed. Numbers only grow, so the data needs no reset, and a slow member still sees that it has
// passed after others have left. (The node "ready" of the documentation must be deleted between two
// generations, when no member needs it.)
//
// One Barrier belongs to one session, which enters again after it has left. A member whose session
// ends counts until the servers have removed its node.
type Barrier struct {
	contest
	parties int
	passed  passedRange // members of the generation with which this client passed, and of all earlier ones
}

// NewBarrier returns the barrier at parent, which is created if it is missing. All clients must agree
// on the number of parties, 1 or more. It sends nothing.
func NewBarrier(s *Session, parent string, parties int, v Variant) *Barrier {
	b := &Barrier{parties: max(parties, 1)}
	b.contest = contest{s: s, parent: parent, prefix: barrierPrefix, variant: v, unmarked: true, headWaits: true, wait: b.awaitOpen}
	return b
}

// Enter waits until as many clients have entered as there are parties. After an error it leaves no
// node in a live session. Errors: ctx's own; ErrSessionEnded.
func (b *Barrier) Enter(ctx context.Context) (*Grant, error) { return b.acquire(ctx) }

// awaitOpen waits until the barrier is open for the node, or opens it. listed is the list at the node's creation.
func (b *Barrier) awaitOpen(ctx context.Context, node string, listed reply) error {
	own, _ := sequence(client.Base(node), b.prefix)
	watch := len(listed.names) < b.parties // the last member of a generation does not wait
	for {
		parentNode, err := b.s.get(ctx, b.parent, watch)
		if err != nil {
			return mapNoNode(err)
		}
		g := parsePassed(parentNode.data)
		if g.has(own) {
			b.passed = g
			return nil
		}
		if listed, err = b.listIfEmpty(ctx, listed); err != nil {
			return err
		}
		n, err := b.rank(node, listed.names, g)
		switch {
		case err != nil:
			return err
		case n == b.parties-1: // opens the barrier for all members numbered up to own
			_, err = b.s.Set(ctx, b.parent, strconv.AppendInt(nil, int64(own), 10), parentNode.stat.Version)
			if err == nil {
				b.passed = passedRange{own, true}
				return nil
			}
			if !errors.Is(err, zk.ErrBadVersion) && !Indeterminate(err) {
				return mapNoNode(err)
			}
			listed = reply{}
		case watch:
			if listed, err = b.awaitMembers(ctx, node, n, g, parentNode.watch); err != nil {
				return err
			}
			watch = false // the generation is probably complete, so no watch is needed
		default:
			listed, watch = reply{}, true
		}
	}
}

// awaitMembers waits until the parent's data changes, or until the node may be the last of its generation,
// in which case it returns the list that shows this. n is the node's rank.
//
// A member before the last one cannot become the last, so it need not watch the children. The node
// of a client beyond the parties does, when a member ahead of it dies.
func (b *Barrier) awaitMembers(ctx context.Context, node string, n int, g passedRange, door <-chan zk.Event) (reply, error) {
	if b.variant == Predecessor && n < b.parties {
		_, err := b.s.wake(ctx, door)
		return reply{}, err
	}
	for {
		got, err := b.list(ctx, true)
		if err != nil {
			return reply{}, err
		}
		if n, err := b.rank(node, got.names, g); err != nil || n == b.parties-1 {
			return got, err
		}
		event, err := b.s.wake(ctx, door, got.watch)
		if err != nil || event.Type != zk.EventNodeChildrenChanged {
			return reply{}, err
		}
	}
}

// passedRange describes the members that have passed: if any is true, all with a number up to last.
type passedRange struct {
	last     int32
	nonEmpty bool
}

func parsePassed(data []byte) passedRange {
	n, err := strconv.ParseInt(string(data), 10, 32)
	return passedRange{int32(n), err == nil}
}

func (p passedRange) has(seq int32) bool { return p.nonEmpty && !before(p.last, seq) }

// rank returns how many members of its generation precede the node.
func (b *Barrier) rank(node string, names []string, g passedRange) (int, error) {
	waiting := slices.DeleteFunc(sortedNodes(names, b.prefix), func(m sequentialNode) bool { return g.has(m.seq) })
	n := slices.IndexFunc(waiting, func(m sequentialNode) bool { return m.name == client.Base(node) })
	if n < 0 {
		return 0, errVanished
	}
	return n, nil
}

// Leave waits until all members of the generation leave. The caller must stop acting before the
// call. The node is deleted in any case, as by Grant.Release. Errors: as of Grant.Release;
// ErrSessionEnded; ctx's own, if not all have left.
func (b *Barrier) Leave(ctx context.Context, g *Grant) (err error) {
	if b.variant == Parent || b.parties == 1 {
		if err := g.Release(ctx); err != nil || b.parties == 1 {
			return err
		}
		return b.awaitAll(ctx)
	}
	defer func() {
		if released := g.Release(ctx); err == nil {
			err = released
		}
	}()
	for {
		listed, err := b.list(ctx, false)
		if err != nil {
			return ignoreVanished(err)
		}
		members := b.members(listed.names)
		own := slices.IndexFunc(members, func(m sequentialNode) bool { return m.name == client.Base(g.Path) })
		if len(members) == 0 || own == 0 && len(members) == 1 {
			return nil
		}
		// The first member stays until all others have left; they wait for it.
		awaited := members[0]
		if own == 0 {
			awaited = members[len(members)-1]
		}
		got, err := b.s.get(ctx, b.parent+"/"+awaited.name, true)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return err
		}
		if own > 0 {
			if err := g.Release(ctx); err != nil {
				return err
			}
		}
		if _, err := b.s.wake(ctx, got.watch); err != nil {
			return err
		}
	}
}

// awaitAll returns when no member of the generation has a node. Every departure notifies every caller.
func (b *Barrier) awaitAll(ctx context.Context) error {
	for {
		got, err := b.list(ctx, true)
		if err != nil {
			return ignoreVanished(err)
		}
		if len(b.members(got.names)) == 0 {
			return nil
		}
		if _, err := b.s.wake(ctx, got.watch); err != nil {
			return err
		}
	}
}

// ignoreVanished returns nil instead of errVanished: the parent was deleted, and all members with it.
func ignoreVanished(err error) error {
	if errors.Is(err, errVanished) {
		return nil
	}
	return err
}

func (b *Barrier) members(names []string) []sequentialNode {
	return slices.DeleteFunc(sortedNodes(names, b.prefix), func(m sequentialNode) bool { return !b.passed.has(m.seq) })
}

// barrierFormulas are the exact formulas of one generation of n members, from when all but the last
// wait, if they leave one after the other in the order of their nodes. k is n.
//
// The last member creates its node, lists, reads the data and writes it; that notifies the n-1
// waiters, and each reads.
//
// Parent: the last node notifies the n-1 waiters too, and each lists. Their watches of the children
// are left, and fire at the first departure. Every client that leaves lists, and the i-th departure
// notifies the i-1 that have left before, and each lists again.
//
// Predecessor: every client that leaves lists and watches one node: the first member the last one,
// which notifies it once, and all others the first, which notifies n-1. Each notified client lists.
var barrierFormulas = map[Variant]Formulas{
	Parent: {
		Drain: func(n, _ int) Cost {
			all, waiting, pairs := int64(n), int64(n-1), int64(n)*int64(n-1)/2
			c := Cost{Notifications: 3*waiting + pairs, Lists: 1 + waiting + pairs, Deletes: all, Others: 3 + waiting}
			if n > 1 {
				c.Lists += all
			}
			return c
		},
		Text: map[string]string{"hand-off": "3+N/2 on average: the last member's node and the write that opens the barrier notify every waiter, and each departure notifies every client that is leaving; (N-1)(N+6)/2 in all"},
	},
	Predecessor: {
		Drain: func(n, _ int) Cost {
			all, waiting := int64(n), int64(n-1)
			c := Cost{Notifications: waiting, Lists: 1, Deletes: all, Others: 3 + waiting}
			if n > 1 {
				c.Notifications, c.Lists, c.Others = c.Notifications+all, c.Lists+2*all, c.Others+all
			}
			return c
		},
		Text: map[string]string{"hand-off": "2: one when the barrier opens, and one when all members have left; 2N-1 in all"},
	},
}
