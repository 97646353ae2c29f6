package driver_test

import (
	"context"
	"os"
	"strings"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver"
)

// A driver of the client library's own lock: main would call mine.Main().
func Example() {
	mine := driver.Lock{
		About: "zk.Lock", Variant: recipes.Predecessor, Promises: recipes.Promises{Exclusive: true, FIFO: true},
		Open: func(ctx context.Context, env recipes.Env) (driver.Mutex, error) {
			conn, err := driver.Connect(ctx, env)
			if err != nil {
				return driver.Mutex{}, err
			}
			lock := zk.NewLock(conn, env.Parent, zk.WorldACL(zk.PermAll))
			return driver.Mutex{Lock: func(context.Context) error { return lock.Lock() }, Unlock: lock.Unlock, Close: conn.Close}, nil
		},
	}
	// What zkbench says first, and the end of it.
	said := strings.NewReader(`{"id":1,"op":"hello","protocol":1}` + "\n" + `{"id":2,"op":"acquire","client":0}` + "\n")
	if err := mine.Serve(context.Background(), said, os.Stdout); err != nil {
		panic(err)
	}
	// Output:
	// {"id":1,"ok":{"protocol":1,"recipe":"lock","about":"zk.Lock","variant":"predecessor","promises":{"exclusive":true,"fifo":true},"ops":["acquire","release"],"max_clients":1000}}
	// {"id":2,"error":{"kind":"failed","text":"client 0 is not open"}}
}
