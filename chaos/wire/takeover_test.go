package wire_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/process"
)

// openSession opens a session whose client does not come back once it is closed.
func openSession(t *testing.T, addr string) (wire.Client, wire.Session) {
	t.Helper()
	r := rigAt(t, addr)
	r.connect(10 * time.Second)
	r.client.SetGateClosed(true)
	return r.client, r.client.Session()
}

func TestSession_CloseAt_endsItForAllMembers(t *testing.T) {
	ctx := t.Context()
	if err := process.Available(""); err != nil {
		t.Skip(err)
	}
	e, err := process.Start(ctx, ensembles.Options{Members: 3, Tick: 500 * time.Millisecond})
	must(t, err)
	t.Cleanup(func() { must(t, e.Down(context.Background())) })
	for _, m := range e.Members {
		t.Run("closed over "+m.Name, func(t *testing.T) {
			client, s := openSession(t, e.Members[0].Addr)
			must(t, s.CloseAt(ctx, m.Addr))
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
	t.Run("not with a wrong password", func(t *testing.T) {
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
