package foreign

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// servers is a real ensemble, one for all tests of this package.
var servers []string

// sessionTimeout is what clients ask for.
const sessionTimeout = 4 * time.Second

// patience is for one change. A JVM that starts on a busy machine takes seconds.
const patience = 60 * time.Second

// eye is a session with which tests look at the tree.
var eye *zk.Conn

func TestMain(m *testing.M) {
	// Most of the time a driver starts, or waits: run more of them than processors.
	flag.Set("test.parallel", "4")
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	e, err := process.Start(ctx, ensembles.Options{Members: 1, Tick: 500 * time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		return 1
	}
	defer e.Down(context.Background())
	servers = e.Servers()
	eye, _, err = zk.Connect(servers, 10*time.Second, zk.WithLogInfo(false))
	if err != nil {
		fmt.Fprintln(os.Stderr, "foreign:", err)
		return 1
	}
	defer eye.Close()
	return m.Run()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var paths atomic.Int64

// freshPath makes a path that no other test uses, and a resource beside it.
func freshPath(t *testing.T) (path, resource string) {
	t.Helper()
	top := fmt.Sprintf("/test-%d", paths.Add(1))
	for _, p := range []string{top, top + "/line", top + "/resource"} {
		_, err := eye.Create(p, nil, 0, zk.WorldACL(zk.PermAll))
		must(t, err)
	}
	return top + "/line", top + "/resource"
}

// until waits for a condition of the tree.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it never came to this: %s", what)
		}
	}
}

// standing waits until there are n nodes in line.
func standing(t *testing.T, path string, n int) {
	t.Helper()
	var names []string
	until(t, fmt.Sprintf("%d in line at %s", n, path), func() bool {
		names, _, _ = eye.Children(path)
		return len(names) == n
	})
}

// watched waits until somebody watches a node in the line. A release before that would meet
// ZooKeeper's WriteLock between its list and its watch, and it would wait for ever.
func watched(t *testing.T, path string) {
	t.Helper()
	until(t, "somebody watches a node below "+path, func() bool {
		conn, err := net.Dial("tcp", servers[0])
		if err != nil {
			return false
		}
		defer conn.Close()
		if _, err := conn.Write([]byte("wchp")); err != nil {
			return false
		}
		watches, _ := io.ReadAll(conn)
		return strings.Contains(string(watches), path+"/")
	})
}
