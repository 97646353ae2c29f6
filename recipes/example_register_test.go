package recipes_test

import (
	"context"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
)

// first is the smallest subject: whoever creates the node has the lock, and nobody
// waits for it.
type first struct {
	conn *zk.Conn
	path string
}

func openFirst(ctx context.Context, env recipes.Env) (recipes.Client, error) {
	conn, events, err := zk.Connect(env.Servers, env.Timeout, zk.WithDialer(env.Dial), zk.WithLogInfo(false))
	if err != nil {
		return nil, err
	}
	for {
		select {
		case e := <-events:
			if e.State == zk.StateHasSession {
				return &first{conn: conn, path: env.Parent}, nil
			}
		case <-ctx.Done():
			conn.Close()
			return nil, ctx.Err()
		}
	}
}

func (f *first) Acquire(context.Context) (recipes.Claim, error) {
	if _, err := f.conn.Create(f.path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
		return recipes.Claim{}, err
	}
	at := time.Now()
	_, stat, err := f.conn.Exists(f.path)
	if err != nil {
		return recipes.Claim{}, err
	}
	return recipes.Claim{Token: stat.Czxid, Session: stat.EphemeralOwner, Path: f.path, At: at}, nil
}

func (f *first) Release(context.Context) error { return f.conn.Delete(f.path, -1) }

func (f *first) Close(context.Context) error {
	f.conn.Close()
	return nil
}

// A lock of one's own is registered under a name. Then zkbench lists it, and scenarios
// measure it.
func ExampleRegister() {
	recipes.Register(recipes.Subject{
		Name:     "lock/first",
		About:    "whoever creates the node has the lock; nobody waits",
		Recipe:   recipes.RecipeLock,
		Promises: recipes.Promises{Exclusive: true},
		Open:     openFirst,
	})
}
