package recipes

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

func init() {
	for v, who := range map[Variant]string{
		Parent:      "every idle consumer watches the items: each put notifies all (the herd)",
		Predecessor: "consumers wait in line with tickets, and only the first watches the items: each put notifies at most two clients",
	} {
		Register(Subject{
			Name: "queue/" + string(v), Recipe: RecipeQueue, Variant: v,
			About:    "built-in; " + who + ". Confirmed deliveries are exactly once, fifo; a lost reply is reported, never hidden",
			Promises: Promises{FIFO: true, Delivery: ExactlyOnce}, Formulas: queueFormulas[v],
			Open: func(ctx context.Context, env Env) (Client, error) {
				s, err := env.open(ctx)
				if err != nil {
					return nil, err
				}
				return queueClient{NewQueue(s, env.Parent, v)}, nil
			},
			LineNode: map[Variant]string{Predecessor: ticketNode}[v],
		})
	}
}

type queueClient struct{ *Queue }

func (c queueClient) Close(context.Context) error { return c.s.Close() }

const (
	itemPrefix   = "qn-"     // before the sequence number of an item's node, as in ZooKeeper's own DistributedQueue
	ticketPrefix = "-t-"     // of a consumer's ticket
	ticketNode   = "tickets" // child of the queue for the line of consumers (Predecessor)

	// maxFrame is the largest request that ZooKeeper accepts: jute.maxbuffer's default.
	maxFrame = 1<<20 - 1
	// itemFrame bounds the size of a frame with an item, without the item and the parent's path:
	// headers, the node's name, the ACL of a create, the Stat of a get.
	itemFrame = 160
)

// ErrEmpty is returned by Element and Remove when the queue is empty.
var ErrEmpty = errors.New("the queue is empty")

// ErrItemTooLarge means that an item does not fit into a znode.
var ErrItemTooLarge = errors.New("the item is too large for a znode")

// Queue is ZooKeeper's queue recipe: an item is a persistent sequential node, the head is the node with
// the lowest number, and taking an item deletes its node. An item is any sequence of bytes, possibly
// empty, up to ZooKeeper's limit.
//
// In the parent variant every idle consumer watches the items, so each put notifies all of them,
// and all but one find the item deleted. In the predecessor variant consumers wait in line with
// tickets, each watching the ticket before its own; only the head of the line watches the items.
//
// A consumer that receives an item with a nil error is the only one that does. If the reply to the delete
// is lost, this consumer may or may not have taken the item. Take then returns the item together with an
// error for which Indeterminate is true. A caller that processes the item makes delivery at-least-once, a
// caller that drops it at-most-once. The item is never lost silently. The predecessor variant determines
// the outcome as long as its session is alive.
type Queue struct {
	s           *Session
	parent      string
	variant     Variant
	maxItemSize int // largest item, in bytes
}

// NewQueue returns the queue at parent, which is created if it is missing. The session's MaxPacket also
// limits the size of items.
func NewQueue(s *Session, parent string, v Variant) *Queue {
	return &Queue{s: s, parent: parent, variant: v, maxItemSize: min(maxFrame, s.options.MaxPacket) - len(parent) - itemFrame}
}

// Put appends an item. After a nil error the item is in the queue exactly once. After an error for which
// Indeterminate is true it is in the queue at most once; after any other error it is not. After a lost
// reply Put does not search for the item: its name cannot contain an ID, because ZooKeeper's own clients
// of the queue require "qn-" and ten digits.
func (q *Queue) Put(ctx context.Context, item []byte) error {
	if len(item) > q.maxItemSize {
		return fmt.Errorf("put into %s: %w: %d bytes, but at most %d are allowed (split the item, or put a reference to it)", q.parent, ErrItemTooLarge, len(item), q.maxItemSize)
	}
	for parentCreated := false; ; parentCreated = true {
		_, err := q.s.Create(ctx, q.parent+"/"+itemPrefix, item, zk.FlagSequence)
		if parentCreated || !errors.Is(err, zk.ErrNoNode) {
			return err
		}
		if err := q.s.MakePath(ctx, q.parent); err != nil {
			return err
		}
	}
}

// Offer is Put under its name in the Java recipe. It returns true if the error is nil.
func (q *Queue) Offer(ctx context.Context, item []byte) (bool, error) {
	err := q.Put(ctx, item)
	return err == nil, err
}

// Element returns the item at the head without removing it. It returns ErrEmpty if there is no item.
func (q *Queue) Element(ctx context.Context) ([]byte, error) {
	for {
		items, err := q.items(ctx)
		if err != nil {
			return nil, err
		}
		if len(items) == 0 {
			return nil, fmt.Errorf("%s: %w", q.parent, ErrEmpty)
		}
		item, err := q.read(ctx, items[0])
		if err != nil || item != nil { // else taken in between
			return item.bytes(), err
		}
	}
}

// Peek is like Element, but returns nil and no error if the queue is empty.
func (q *Queue) Peek(ctx context.Context) ([]byte, error) { return nilIfEmpty(q.Element(ctx)) }

// Remove takes the item at the head. It returns ErrEmpty if the session's member knows of no item: reads
// may be behind other sessions' puts. It does not wait in line, so it overtakes waiting consumers by at
// most one item. Other errors are as for Take.
func (q *Queue) Remove(ctx context.Context) ([]byte, error) {
	item, err := q.takeHead(ctx)
	if err == nil && item == nil {
		return nil, fmt.Errorf("%s: %w", q.parent, ErrEmpty)
	}
	return item.bytes(), err
}

// Poll is like Remove, but returns nil and no error if the queue is empty.
func (q *Queue) Poll(ctx context.Context) ([]byte, error) { return nilIfEmpty(q.Remove(ctx)) }

func nilIfEmpty(data []byte, err error) ([]byte, error) {
	if errors.Is(err, ErrEmpty) {
		return nil, nil
	}
	return data, err
}

// Take waits for an item and removes it. With an error for which Indeterminate is true and a
// non-nil item, that item may have been taken (see Queue).
func (q *Queue) Take(ctx context.Context) ([]byte, error) {
	take := q.takePredecessor
	if q.variant == Parent {
		take = q.takeParent
	}
	item, err := take(ctx)
	return item.bytes(), err
}

type item struct {
	path string
	data []byte
}

func (i *item) bytes() []byte {
	if i == nil {
		return nil
	}
	return i.data
}

// items returns the paths of the items, oldest first.
func (q *Queue) items(ctx context.Context) ([]string, error) {
	names, err := q.s.List(ctx, q.parent)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return nil, err
	}
	var paths []string
	for _, p := range sortedNodes(names, itemPrefix) {
		paths = append(paths, q.parent+"/"+p.name)
	}
	return paths, nil
}

func (q *Queue) read(ctx context.Context, path string) (*item, error) {
	data, _, err := q.s.Get(ctx, path)
	if errors.Is(err, zk.ErrNoNode) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &item{path, append([]byte{}, data...)}, nil
}
