package zoo

import (
	"context"
	"errors"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
)

// A lock that is one ephemeral node with a fixed name: the client that creates it holds. Its release
// deletes by name until that is answered, in the next session if need be, when the node may be
// another client's. It is the mistake of DEL without a comparison in locks on Redis, of which
// redis.io/docs (Distributed Locks) warns.
func init() {
	s := lock("unlock-by-name", "deletes the lock's node by its name, whosever it is by then", steps{
		create: createTheOne,
		list:   func(context.Context, *line) ([]string, error) { return nil, nil },
		order:  func([]string, string) (first bool, ahead string) { return true, "" },
		spans:  true,
	})
	s.Promises.FIFO = false // the first one notified
	recipes.Register(s)
}

// createTheOne creates the node with the fixed name, and waits while it exists.
func createTheOne(ctx context.Context, l *line) (string, error) {
	path := l.env.Parent + "/lock"
	for ctx.Err() == nil {
		_, err := l.c.create(context.WithoutCancel(ctx), path, nil, zk.FlagEphemeral)
		switch {
		case err == nil:
			return path, nil
		case lost(err):
			if err := l.c.await(ctx); err != nil {
				return "", err
			}
			continue
		case !errors.Is(err, zk.ErrNodeExists):
			return "", err
		}
		stat, err := l.c.stat(ctx, path)
		if err != nil {
			return "", err
		}
		if stat != nil && stat.EphemeralOwner == l.c.SessionID() {
			return path, nil // the reply to an earlier create was lost
		}
		w, err := l.c.watchNode(ctx, path)
		if err != nil {
			return "", err
		}
		if !w.found {
			continue
		}
		if err := w.fired(ctx); err != nil {
			return "", err
		}
	}
	return "", ctx.Err()
}
