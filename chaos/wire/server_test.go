package wire_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// The one real ZooKeeper that all tests of this package share.
var ensemble = sync.OnceValues(func() (*ensembles.Ensemble, error) {
	started = true
	return process.Start(context.Background(), ensembles.Options{Members: 1, Tick: 200 * time.Millisecond})
})

var started bool

func TestMain(m *testing.M) {
	flag.Parse()
	if err := process.Available(""); err != nil {
		fmt.Println("the tests against a real ZooKeeper and the example are skipped:", err)
		_ = flag.Set("test.skip", "^Example") // an example cannot skip itself
	}
	code := m.Run()
	if started { // the ensemble has goroutines of its own
		if e, err := ensemble(); err == nil {
			if err := e.Down(context.Background()); err != nil {
				fmt.Println("taking the ensemble down:", err)
				code = 1
			}
		}
	}
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Println(err)
		code = 1
	}
	os.Exit(code)
}

// zooKeeper returns the address of the one server; it skips the test where
// there is no ZooKeeper to run.
func zooKeeper(t testing.TB) string {
	t.Helper()
	if err := process.Available(""); err != nil {
		t.Skip(err)
	}
	e, err := ensemble()
	must(t, err)
	return e.Servers()[0]
}
