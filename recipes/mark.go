package recipes

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes/internal/client"
)

// The mark makes a hand-off cost the same however long the line is.
//
// Whoever is woken in a plain predecessor recipe must list the whole line: the node that
// it watched may have belonged to a waiter that left, and others may be ahead still. So
// a holder says that it was the holder: its release is one transaction that deletes its
// node and writes the node's name, the mark, into the parent's data, which nobody
// watches. Whoever is woken by a deletion reads the mark:
//
//   - It names the node that was watched. Its owner held the grant, so nobody was ahead of
//     it; numbers only grow, so nobody has come in ahead since. It is our turn.
//   - It names another one, or nothing. The node expired, or a waiter left: list.
//
// The read cannot be behind: the member that told of the deletion has carried out the
// transaction that wrote the mark. A mark cannot be mistaken: names are random, and never
// used again.

// marks reports whether holders leave a mark.
func (c contest) marks() bool { return c.variant == Predecessor && !c.plain && c.wait == nil }

// releasedByHolder reports whether the node with that name, which is gone, was deleted
// by a release. False says nothing.
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

// marked is the second half of a release: it writes the mark of the node at path.
func marked(parent, path string) *zk.SetDataRequest {
	return &zk.SetDataRequest{Path: parent, Data: []byte(client.Base(path)), Version: -1}
}

// delete removes the grant's node, repeated until the servers have said that it is gone,
// and leaves the mark. Where the servers do not let us write at the parent, there is none.
func (g *Grant) delete(ctx context.Context) error {
	if g.markAt == "" {
		return g.s.remove(ctx, g.Path)
	}
	err := g.s.again(ctx, func() error {
		return g.s.multi(ctx, &zk.DeleteRequest{Path: g.Path, Version: -1}, marked(g.markAt, g.Path))
	})
	switch {
	case errors.Is(err, zk.ErrNoNode):
		return nil // our node: its parent is there as long as it is
	case errors.Is(err, zk.ErrNoAuth):
		return g.s.remove(ctx, g.Path)
	}
	return err
}
