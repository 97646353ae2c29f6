package recipes

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
	"go.uber.org/goleak"
)

func TestSession_knowsWhatWasNegotiated(t *testing.T) {
	tap := newTap(0)
	s := openWith(t, Options{Timeout: 100 * time.Millisecond, Dial: tap.Dial})
	onWire := tap.Session()
	if s.timeout() != 2*tick {
		t.Errorf("asked for 100ms of servers that grant at least 2 ticks of %v, and got %v", tick, s.timeout())
	}
	if s.ID() == 0 || s.ID() != onWire.ID {
		t.Errorf("session %#x; on the wire %#x", s.ID(), onWire.ID)
	}
}

func TestSession_keepsTheOrderOfServers(t *testing.T) {
	dead := "127.0.0.1:1"
	for _, row := range []struct {
		about   string
		servers []string
		want    string
	}{
		{"the first one is taken", []string{servers[2], servers[0], servers[1]}, servers[2]},
		{"dead ones are passed over", []string{dead, servers[1], servers[0]}, servers[1]},
		{"the first round is not waited for", []string{dead, dead, dead, servers[0]}, servers[0]},
	} {
		t.Run(row.about, func(t *testing.T) {
			tap := newTap(0)
			s, err := Open(within(t, 10*time.Second), row.servers, Options{Timeout: 4 * time.Second, Dial: tap.Dial})
			must(t, err)
			defer s.Close()
			if got := tap.Session().Server; got != row.want {
				t.Errorf("connected to %s, want %s", got, row.want)
			}
		})
	}
}

func TestOpen_namesTheServerThatItCannotReach(t *testing.T) {
	before := goleak.IgnoreCurrent()
	_, err := Open(within(t, 300*time.Millisecond), []string{"127.0.0.1:1"}, Options{})
	if err == nil || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "127.0.0.1:1: ") || !strings.Contains(err.Error(), "refused") {
		t.Errorf("the error must name the server and what was wrong with it: %v", err)
	}
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if _, err := Open(t.Context(), nil, Options{}); err == nil {
		t.Error("opened a session without servers")
	}
}

func TestSession_leavesAnOpenCallIndeterminateAtItsEnd(t *testing.T) {
	s, tap := tapped(t)
	must(t, tap.Hold())
	defer tap.EndHold()
	created := begin(t.Context(), func(ctx context.Context) (string, error) { return s.Create(ctx, freshPath(), nil, 0) })
	eventually(t, "the request is pending", func() bool { return tap.Counts().Queued > 0 })
	s.abandon()
	if err := (<-created).err; !errors.Is(err, errAbandoned) || !Indeterminate(err) {
		t.Errorf("a create was under way when the session was abandoned, and returned %v", err)
	}
}

func TestSession_isEndedAtTheServersByCloseAndNotByAbandon(t *testing.T) {
	ctx, other := within(t, 20*time.Second), open(t, nil)
	for _, row := range []struct {
		about string
		end   func(*Session)
		stays bool
	}{
		{"after a close the ephemeral node is gone at once", func(s *Session) { s.Close() }, false},
		{"after an abandon it stays until the servers expire the session", (*Session).abandon, true},
	} {
		t.Run(row.about, func(t *testing.T) {
			path, s := freshPath(), open(t, nil)
			_, err := s.Create(ctx, path, nil, zk.FlagEphemeral)
			must(t, err)
			before := goleak.IgnoreCurrent()
			row.end(s)
			s.Close() // a second end does nothing
			must(t, other.barrier(ctx, path+"-barrier"))
			stat, err := other.Exists(ctx, path)
			if err != nil || (stat != nil) != row.stays {
				t.Errorf("the node is there: %v (%v), want %v", stat != nil, err, row.stays)
			}
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestSession_closesWithoutAServerThatHangs(t *testing.T) {
	tap := newTap(0)
	s := openWith(t, Options{Timeout: 20 * tick, Dial: tap.Dial})
	must(t, tap.Hold())
	defer tap.EndHold()
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }()
	select {
	case err := <-closed:
		must(t, err)
	case <-time.After(s.timeout() / 2):
		t.Error("Close waits for a server that does not answer")
	}
}

func TestSession_goesThroughItsStatesInOrder(t *testing.T) {
	s, tap := tapped(t)
	var seen []sessionState
	s.mu.Lock()
	now := s.state
	s.watchers[t] = func(state sessionState) { seen = append(seen, state) }
	s.mu.Unlock()
	_, changed := s.currentState()
	tap.Cut()
	<-changed
	must(t, s.AwaitConnected(within(t, 10*time.Second)))
	s.Close()
	want := []sessionState{connected, disconnected, connected, ended}
	if got := append([]sessionState{now}, seen...); !slices.Equal(got, want) {
		t.Errorf("states %v, want %v", got, want)
	}
}

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
		s := openWith(t, Options{Timeout: 20 * tick, Dial: tap.Dial})
		_, err := s.Create(ctx, path, nil, 0)
		must(t, err)
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

// Long replies come on a session's later connections as on its first.
func TestSession_takesLongRepliesAfterACut(t *testing.T) {
	ctx, path, tap := within(t, 30*time.Second), freshPath(), newTap(0)
	s := openWith(t, Options{Timeout: 20 * tick, Dial: tap.Dial})
	_, err := s.Create(ctx, path, longData, 0)
	must(t, err)
	for cuts := range 3 {
		if data, _, err := s.Get(ctx, path); err != nil || !bytes.Equal(data, longData) {
			t.Fatalf("after %d cuts: read %d bytes, %v; want %d", cuts, len(data), err, len(longData))
		}
		if n := tap.Counts().Connections; n < int64(cuts)+1 {
			t.Errorf("%d connections, though %d were cut", n, cuts)
		}
		tap.Cut()
	}
}

// A second for every dial would do until thousands dial at once. Then all give up, and
// begin again.
func TestOpen_isMorePatientInEachRound(t *testing.T) {
	ctx, cancel := context.WithCancel(within(t, 20*time.Second))
	var limits []time.Duration // written by go-zookeeper's one connect loop
	_, err := Open(ctx, []string{"a:1", "b:1"}, Options{Timeout: 9 * time.Second,
		Dial: func(_, _ string, limit time.Duration) (net.Conn, error) {
			if limits = append(limits, limit); len(limits) == 8 {
				cancel()
			}
			return nil, errors.New("refused")
		}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	const s = time.Second
	if want := []time.Duration{s, s, 2 * s, 2 * s, 3 * s, 3 * s, 3 * s, 3 * s}; !slices.Equal(limits[:8], want) {
		t.Errorf("the dials could take %v, want %v: up to a third of the session timeout", limits[:8], want)
	}
}
