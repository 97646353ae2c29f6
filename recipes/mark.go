package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// The mark makes the cost of a hand-off independent of the length of the line.
//
// A notified waiter in a plain predecessor recipe must list the whole line: the node that it
// watched may have belonged to a waiter that left, and others may be ahead still. So a holder marks
// its release: it deletes its node and writes the node's name, the mark, into the parent's data,
// which no client watches, in one transaction. A waiter that is notified of a deletion reads the
// mark:
//
//   - It is the name of the watched node. Its owner held the grant, so no client was ahead of
//     it; numbers only grow, so none has come in ahead since. It is our turn.
//   - It is another name, or empty. The node expired, or a waiter left: list.
//
// The read cannot be stale: the member that sent the notification has executed the transaction that
// wrote the mark. A mark is unambiguous: names are random, and never reused.

// marks reports whether holders leave a mark.
func (c contest) marks() bool { return c.variant == Predecessor && !c.plain && c.wait == nil }

// releasedByHolder reports whether the deleted node with that name is known to have been deleted by
// a release.
func (c contest) releasedByHolder(ctx context.Context, name string) (bool, error) {
	if !c.marks() {
		return false, nil
	}
	mark, _, err := c.s.Get(ctx, c.parent)
	if errors.Is(err, zk.ErrNoNode) {
		return false, errVanished
	}
	return string(mark) == name, err
}

// marked returns the second half of a release: it writes the mark of the node at path.
func marked(parent, path string) *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: parent, Data: []byte(client.Base(path)), Version: -1}
}

// delete removes the grant's node, retrying until the servers have confirmed that, and leaves the
// mark. If the ACL forbids writes to the parent, there is none.
func (g *Grant) delete(ctx context.Context) error {
	if g.markAt == "" {
		return g.s.remove(ctx, g.Path)
	}
	err := g.s.again(ctx, func() error {
		return g.s.multi(ctx, &zk.DeleteRequest{Path: g.Path, Version: -1}, marked(g.markAt, g.Path))
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil // our node's parent exists as long as it does
	case errors.Is(err, zk.ErrNoAuth):
		return g.s.remove(ctx, g.Path)
	}
	return err
}
