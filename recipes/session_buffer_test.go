package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

// longData is longer than go-zookeeper's first buffers.
var longData = bytes.Repeat([]byte("0123456789abcdef"), 2<<10)

// The first long request of a session costs a round trip, whatever makes it long; its
// short ones before and long ones after cost none.
func TestSession_makesRoomOnce(t *testing.T) {
	for what, long := range map[string]func(ctx context.Context, s *Session, path string) error{
		"create": func(ctx context.Context, s *Session, path string) error {
			_, err := s.Create(ctx, path+"/long", longData, 0)
			return err
		},
		"set": func(ctx context.Context, s *Session, path string) error {
			_, err := s.Set(ctx, path, longData, -1)
			return err
		},
		"transaction": func(ctx context.Context, s *Session, path string) error {
			return s.multi(ctx, &zk.SetDataRequest{Path: path, Data: longData, Version: -1})
		},
		"path": func(ctx context.Context, s *Session, path string) error {
			_, err := s.List(ctx, path+strings.Repeat("/"+strings.Repeat("x", 99), 50))
			if !errors.Is(err, zk.ErrNoNode) {
				return fmt.Errorf("listed a node that is not there: %w", err)
			}
			return nil
		},
	} {
		ctx, path, tap := within(t, 30*time.Second), freshPath(), newTap(0)
		s, err := Open(ctx, servers, Options{Timeout: 20 * tick, Dial: tap.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if _, err := s.Create(ctx, path, nil, 0); err != nil {
			t.Fatal(err)
		}
		if n := tap.Counts().Requests.Of(wire.Exists); n != 0 {
			t.Errorf("%s: %d round trips for a short request", what, n)
		}
		if err := long(ctx, s, path); err != nil {
			t.Errorf("a long %s: %v", what, err)
		}
		if _, err := s.Set(ctx, path, longData, -1); err != nil {
			t.Errorf("%s, and then a long request: %v", what, err)
		}
		if n := tap.Counts().Requests.Of(wire.Exists); n != 1 {
			t.Errorf("%s: %d round trips for long requests, want 1", what, n)
		}
	}
}

// Long replies come on a session's second connection as on its first.
func TestSession_takesLongRepliesAfterACut(t *testing.T) {
	ctx, path, tap := within(t, 30*time.Second), freshPath(), newTap(0)
	s, err := Open(ctx, servers, Options{Timeout: 20 * tick, Dial: tap.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Create(ctx, path, longData, 0); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if data, _, err := s.Get(ctx, path); err != nil || !bytes.Equal(data, longData) {
			t.Fatalf("read %d bytes, %v; want %d", len(data), err, len(longData))
		}
		tap.Cut()
	}
	if data, _, err := s.Get(ctx, path); err != nil || !bytes.Equal(data, longData) {
		t.Fatalf("after a cut: read %d bytes, %v; want %d", len(data), err, len(longData))
	}
	if n := tap.Counts().Connections; n < 3 {
		t.Errorf("%d connections, though 2 were cut", n)
	}
}
