package recipes

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// servers is a real three-member ensemble, one for all tests of this package. A
// short tick makes for short session timeouts.
var servers []string

const tick = 500 * time.Millisecond

func TestMain(m *testing.M) {
	// Tests that disturb connections mostly wait: run more of them than processors.
	flag.Set("test.parallel", "12")
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	e, err := process.Start(ctx, ensembles.Options{Members: 3, Tick: tick})
	if err != nil {
		fmt.Fprintln(os.Stderr, "recipes:", err)
		return 1
	}
	defer e.Down(context.Background())
	servers = e.Servers()
	before := goleak.IgnoreCurrent()
	code := m.Run()
	if err := goleak.Find(before); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, "recipes: goroutines are left:", err)
		code = 1
	}
	return code
}

var paths atomic.Int64

// freshPath returns a path that no other test uses.
func freshPath() string { return fmt.Sprintf("/test-%d", paths.Add(1)) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// within is a context for one test, long enough for a reconnect and more.
func within(t *testing.T, d time.Duration) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// open opens a session through dial (nil: directly) that is closed after the test.
func open(t *testing.T, dial func(network, addr string, timeout time.Duration) (net.Conn, error)) *Session {
	t.Helper()
	return openWith(t, Options{Timeout: 4 * time.Second, Dial: dial})
}

func openWith(t *testing.T, o Options) *Session {
	t.Helper()
	s, err := Open(within(t, 10*time.Second), servers, o)
	must(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// tapped opens a session through a wire tap.
func tapped(t *testing.T) (*Session, wire.Client) {
	t.Helper()
	tap := newTap(0)
	return open(t, tap.Dial), tap
}

// newTap returns the wire tap of a client.
func newTap(client int) wire.Client {
	return wire.New(clock()).Client(client)
}

// clock returns a monotonic clock that starts now.
func clock() func() time.Duration {
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}

// outcome is the result of a call.
type outcome[T any] struct {
	value T
	err   error
}

// begin calls f in a goroutine, and returns the channel of its outcome.
func begin[T any](ctx context.Context, f func(context.Context) (T, error)) <-chan outcome[T] {
	done := make(chan outcome[T], 1)
	go func() {
		value, err := f(ctx)
		done <- outcome[T]{value, err}
	}()
	return done
}

func (o outcome[T]) must(t *testing.T) T {
	t.Helper()
	must(t, o.err)
	return o.value
}

// acquire acquires what must be granted.
func acquire(t *testing.T, f acquirer) *Grant {
	t.Helper()
	g, err := f(within(t, 20*time.Second))
	must(t, err)
	return g
}

func release(t *testing.T, g *Grant) {
	t.Helper()
	must(t, g.Release(within(t, 20*time.Second)))
}

// join begins an acquire, which makes its client the n-th in line.
func join(t *testing.T, observer *Session, path, prefix string, n int, f acquirer) <-chan outcome[*Grant] {
	t.Helper()
	granted := begin(within(t, 20*time.Second), f)
	standing(t, observer, path, prefix, n)
	return granted
}

// standing waits until n clients stand in line.
func standing(t *testing.T, observer *Session, path, prefix string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d stand in line", n), func() bool { return len(lineAt(t, observer, path, prefix)) == n })
}

// eventually waits for the condition.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !yes(); {
		if time.Now().After(deadline) {
			t.Fatalf("still not true: %s", what)
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

// lineAt returns the names of those who stand in line at path, as the leader of the
// ensemble will have them: a write goes before the read.
func lineAt(t *testing.T, s *Session, path, prefix string) []sequentialNode {
	t.Helper()
	ctx := within(t, 10*time.Second)
	must(t, s.MakePath(ctx, path))
	names, err := s.List(ctx, path)
	must(t, err)
	return sortedNodes(names, prefix)
}
