package chaos

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"zkbench/chaos/wire"
	"zkbench/ensembles"
)

// lab is an ensemble with connected clients, as a trial has it.
type lab struct {
	Target
	conns  []*zk.Conn
	events []chan wire.Event
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// newLab connects n clients to the ensemble, each through its tap.
func newLab(t testing.TB, e *ensembles.Ensemble, n int, timeout time.Duration) *lab {
	t.Helper()
	tap := wire.New(clock())
	l := &lab{Target: Target{Ensemble: e, Holder: func() int { return 0 }}}
	for range n {
		l.events = append(l.events, make(chan wire.Event, 100))
	}
	tap.OnEvent(func(e wire.Event) { l.events[e.Client] <- e })
	t.Cleanup(tap.Close)
	for i := range n {
		c := tap.Client(i)
		conn, _, err := zk.Connect(e.Servers(), timeout, zk.WithDialer(c.Dial), zk.WithLogger(quiet{}))
		must(t, err)
		t.Cleanup(conn.Close)
		l.Clients, l.conns = append(l.Clients, c), append(l.conns, conn)
		l.await(t, i, wire.Connected)
	}
	return l
}

// await waits until the client's session had that event.
func (l *lab) await(t testing.TB, client int, kind wire.EventKind) wire.Event {
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
