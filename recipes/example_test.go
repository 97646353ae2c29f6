package recipes_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"time"

	"github.com/zkbench/zkbench/recipes"
)

// zkbench opens the clients of a subject, here of the lock in the example of Register.
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
