package chaos

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

// clients are connected to an ensemble, as those of a trial are.
type clients struct {
	Target
	conns  []*zk.Conn
	events []chan wire.Event
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// connect connects n clients to the target's ensemble, each through its tap.
func connect(t testing.TB, target Target, n int, timeout time.Duration) *clients {
	t.Helper()
	tap := wire.New(clock())
	l := &clients{Target: target}
	l.Holder = func(bool) int { return 0 }
	for range n {
		l.events = append(l.events, make(chan wire.Event, 100))
	}
	tap.OnEvent(func(e wire.Event) { l.events[e.Client] <- e })
	t.Cleanup(tap.Close)
	for i := range n {
		c := tap.Client(i)
		conn, _, err := zk.Connect(target.Ensemble.Servers(), timeout, zk.WithDialer(c.Dial), zk.WithLogger(quiet{}))
		must(t, err)
		t.Cleanup(conn.Close)
		l.Clients, l.conns = append(l.Clients, c), append(l.conns, conn)
		l.await(t, i, wire.Connected)
	}
	return l
}

// await waits until the client's session had that event.
func (l *clients) await(t testing.TB, client int, kind wire.EventKind) wire.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	for {
		select {
		case e := <-l.events[client]:
			if e.Kind == kind {
				return e
			}
		case <-ctx.Done():
			t.Fatalf("client %d: never %s", client, kind)
		}
	}
}

// createUntilError creates node after node until one is not answered with success,
// and then sends that one's path.
func (l *clients) createUntilError(client int, prefix string) <-chan string {
	path := make(chan string, 1)
	go func() {
		for i := 0; ; i++ {
			p := fmt.Sprintf("%s-%d-%d", prefix, l.Clients[client].Session().ID, i)
			if _, err := l.conns[client].Create(p, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
				path <- p
				return
			}
		}
	}()
	return path
}

// askOften asks for a node again and again until ctx ends, and sends how long each
// answer took.
func (l *clients) askOften(ctx context.Context, client int) <-chan time.Duration {
	took := make(chan time.Duration, 1<<16)
	go func() {
		defer close(took)
		for ctx.Err() == nil {
			begin := time.Now()
			if _, _, err := l.conns[client].Exists("/nobody"); err != nil {
				return
			}
			took <- time.Since(begin)
		}
	}()
	return took
}
