package wire_test

import (
	"fmt"
	"io"
	"log"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

func Example() {
	zookeeper, err := ensemble() // a real one
	if err != nil {
		log.Fatal(err)
	}
	start := time.Now()
	tap := wire.New(func() time.Duration { return time.Since(start) })
	defer tap.Close()

	client := tap.Client(17)
	conn, _, err := zk.Connect(zookeeper.Servers(), 4*time.Second,
		zk.WithDialer(client.Dial), zk.WithLogger(log.New(io.Discard, "", 0)))
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	for range 3 {
		_, err = conn.CreateProtectedEphemeralSequential("/example-", nil, zk.WorldACL(zk.PermAll))
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println("creates:", client.Counts().Requests.Of(wire.Create))
	fmt.Println("negotiated:", client.Session().Timeout)
	// Output:
	// creates: 3
	// negotiated: 4s
}
