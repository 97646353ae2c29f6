package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
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

// A subject of one's own needs a name and a function that opens a client.
func ExampleSubject() {
	subject := recipes.Subject{Name: "lock/first", About: "whoever comes first", Recipe: recipes.RecipeLock, Open: openFirst}

	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	env := recipes.Env{
		Servers: recipes.EnsembleServers(), Parent: "/example-subject",
		Timeout: 4 * time.Second, Dial: net.DialTimeout, MaxPacket: 64 << 10,
		Events: func(e recipes.Event) { fmt.Println(e.Kind) },
	}
	var clients [2]recipes.Contender
	for i := range clients {
		c, err := subject.Open(ctx, env)
		if err != nil {
			log.Fatal(err)
		}
		clients[i] = c.(recipes.Contender)
		defer c.Close(ctx)
	}
	claim, err := clients[0].Acquire(ctx)
	fmt.Println("the first has a token:", claim.Token != 0, err)
	_, err = clients[1].Acquire(ctx)
	fmt.Println("the second:", err)
	fmt.Println("released:", clients[0].Release(ctx))
	// Output:
	// the first has a token: true <nil>
	// the second: zk: node already exists
	// released: <nil>
}

// TryAcquire does not wait.
func ExampleLock_TryAcquire() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	s, err := recipes.Open(ctx, recipes.EnsembleServers(), recipes.Options{Timeout: 4 * time.Second})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	lock := recipes.NewLock(s, "/example-lock", recipes.Predecessor)

	grant, err := lock.TryAcquire(ctx)
	fmt.Println(grant.State(), err)
	_, err = lock.TryAcquire(ctx)
	fmt.Println(errors.Is(err, recipes.ErrNotAcquired))
	fmt.Println(grant.Release(ctx), grant.State())
	// Output:
	// held <nil>
	// true
	// <nil> released
}
