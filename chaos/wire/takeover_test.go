package wire_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// quorum starts three members that go down with the test.
func quorum(t testing.TB) *ensembles.Ensemble {
	t.Helper()
	if err := process.Available(""); err != nil {
		t.Skip(err)
	}
	e, err := process.Start(t.Context(), ensembles.Options{Members: 3, Tick: 500 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	return e
}

// openSession opens a session whose client does not come back once it is closed.
func openSession(t testing.TB, addr string) (wire.Client, wire.Session) {
	t.Helper()
	tap := wire.New(func() time.Duration { return 0 })
	t.Cleanup(tap.Close)
	client := tap.Client(0)
	conn, _, err := zk.Connect([]string{addr}, 10*time.Second, zk.WithDialer(client.Dial), zk.WithLogger(quiet))
	must(t, err)
	t.Cleanup(conn.Close)
	wire.Until(t, "the session is up", func() bool { return conn.State() == zk.StateHasSession })
	client.SetGateClosed(true)
	return client, client.Session()
}

func TestSession_CloseAt_endsItForAllMembers(t *testing.T) {
	e := quorum(t)
	ctx := t.Context()
	for _, m := range e.Members {
		t.Run("closed over "+m.Name, func(t *testing.T) {
			client, s := openSession(t, e.Members[0].Addr)
			begin := time.Now()
			must(t, s.CloseAt(ctx, m.Addr))
			t.Logf("closed in %v", time.Since(begin))
			for _, asked := range e.Members {
				// A follower that has not applied the close yet may just hang up.
				wire.Until(t, asked.Name+" does not know it", func() bool {
					known, err := s.KnownAt(ctx, asked.Addr)
					return err == nil && !known
				})
			}
			wire.Until(t, "the client's connection is cut", func() bool { return client.Session().Server == "" })
			if err := s.CloseAt(ctx, m.Addr); !errors.Is(err, wire.ErrUnknownSession) {
				t.Errorf("closing it again: %v", err)
			}
		})
	}
	t.Run("a session that lives is known to another member", func(t *testing.T) {
		_, s := openSession(t, e.Members[0].Addr)
		if known, err := s.KnownAt(ctx, e.Members[1].Addr); err != nil || !known {
			t.Errorf("known %v, %v", known, err)
		}
	})
	t.Run("a wrong password closes nobody's session", func(t *testing.T) {
		_, s := openSession(t, e.Members[0].Addr)
		wrong := s
		wrong.Password = make([]byte, 16)
		if err := wrong.CloseAt(ctx, e.Members[1].Addr); !errors.Is(err, wire.ErrUnknownSession) {
			t.Errorf("got %v", err)
		}
		if known, err := s.KnownAt(ctx, e.Members[1].Addr); err != nil || !known {
			t.Errorf("known %v, %v", known, err)
		}
	})
}

func TestSession_CloseAt_givesUpWithItsContext(t *testing.T) {
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer silent.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begin := time.Now()
	s := wire.Session{ID: 1}
	if err := s.CloseAt(ctx, silent.Addr().String()); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a member that never answers: %v", err)
	}
	if took := time.Since(begin); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
	if _, err := s.KnownAt(t.Context(), "127.0.0.1:1"); err == nil {
		t.Error("nobody listens, and it answered")
	}
}

func BenchmarkSession_CloseAt(b *testing.B) {
	e := quorum(b)
	for i := 0; b.Loop(); i++ {
		b.StopTimer()
		addr := e.Members[i%3].Addr
		_, s := openSession(b, addr)
		b.StartTimer()
		must(b, s.CloseAt(b.Context(), addr))
	}
}

// A client with renumbered names sees negative numbers, can use the names that it
// sees, and leaves real ones in the tree.
func TestRenumber_withARealServer(t *testing.T) {
	open := func(dial wire.Dialer) *zk.Conn {
		c, _, err := zk.Connect([]string{zooKeeper(t)}, 4*time.Second, zk.WithDialer(dial), zk.WithLogger(quiet))
		must(t, err)
		t.Cleanup(c.Close)
		return c
	}
	shifted, plain := open(wire.Renumber(net.DialTimeout)), open(net.DialTimeout)
	path, err := shifted.Create("/renumbered-", []byte("x"), zk.FlagEphemeral|zk.FlagSequence, acl)
	must(t, err)
	if path[:13] != "/renumbered--" {
		t.Errorf("the client sees %q, want a negative number", path)
	}
	for name, get := range map[string]func() ([]byte, *zk.Stat, error){
		"the name that the client sees": func() ([]byte, *zk.Stat, error) { return shifted.Get(path) },
		"the name in the tree":          func() ([]byte, *zk.Stat, error) { return plain.Get(wire.RealPath(path)) },
	} {
		if data, _, err := get(); err != nil || string(data) != "x" {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}
