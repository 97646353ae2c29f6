package recipes

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestSession_isExpiredForGood(t *testing.T) {
	ctx := within(t, 20*time.Second)
	s, tap := tapped(t)
	g, err := NewLock(s, freshPath(), Predecessor).Acquire(ctx)
	if err != nil {
		t.Fatal(err)
	}
	id := s.ID()
	expire(t, tap.Session())
	<-s.done
	<-g.Lost()
	if err := s.Err(); !errors.Is(err, ErrSessionEnded) || !errors.Is(err, errExpired) {
		t.Errorf("the session says %v", err)
	}
	if _, err := s.List(ctx, "/"); !errors.Is(err, errExpired) || Indeterminate(err) {
		t.Errorf("a call after the end must be refused, and certainly not sent: %v", err)
	}
	if got := tap.Session().ID; got != id {
		t.Errorf("the client went on with another session, %#x after %#x", got, id)
	}
}

// go-zookeeper keeps requests that were not sent yet and sends them in the next
// session. Ours must not run in any other session than its own.
func TestSession_takesQueuedRequestsWithIt(t *testing.T) {
	ctx, path, other := within(t, 20*time.Second), freshPath(), open(t, nil)
	s, tap := tapped(t)
	tap.Gate(true)
	tap.Cut()
	eventually(t, "it is suspended", func() bool { state, _ := s.now(); return state == disconnected })
	created := make(chan error, 1)
	go func() {
		_, err := s.Create(ctx, path, nil, 0)
		created <- err
	}()
	expire(t, tap.Session())
	tap.Gate(false)
	if err := <-created; !errors.Is(err, ErrSessionEnded) || !Indeterminate(err) {
		t.Errorf("the queued request returned %v", err)
	}
	if err := other.barrier(ctx, path+"-barrier"); err != nil {
		t.Fatal(err)
	}
	if stat, err := other.Exists(ctx, path); stat != nil || err != nil {
		t.Errorf("a request of the dead session has run: %+v, %v", stat, err)
	}
}

func TestSession_endsByItsOwnDeadline(t *testing.T) {
	tap := newTap(0)
	s, err := Open(within(t, 10*time.Second), servers, Options{Timeout: 2 * tick, Dial: tap.Dial})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tap.Gate(true)
	tap.Cut()
	<-s.done
	now := time.Now()
	s.mu.Lock()
	deadline := s.expiry()
	s.mu.Unlock()
	if early := deadline.Sub(now); early > 0 {
		t.Errorf("ended %v before its deadline", early)
	}
	if !errors.Is(s.Err(), errDeadline) {
		t.Errorf("it says %v", s.Err())
	}
}

func TestSession_endsAtAnOversizedReply(t *testing.T) {
	ctx, path, other := within(t, 20*time.Second), freshPath(), open(t, nil)
	s, err := Open(ctx, servers, Options{Timeout: 4 * time.Second, MaxPacket: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := other.MakePath(ctx, path); err != nil {
		t.Fatal(err)
	}
	for range 20 { // MaxPacket is at least 4 KiB
		if _, err := other.Create(ctx, path+"/"+strings.Repeat("x", 240), nil, zk.FlagSequence); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.List(ctx, path); !errors.Is(err, ErrSessionEnded) || !strings.Contains(err.Error(), "exceeds MaxPacket (4096): raise it") {
		t.Errorf("a list that is too long for the session returned %v", err)
	}
}

// The link takes a reply that is not the oldest's for the proof that one is lost.
// Pings must not be answered ahead of requests then, however busy the session is.
func TestSession_staysOnItsFirstConnectionWhenBusy(t *testing.T) {
	ctx, path := within(t, 20*time.Second), freshPath()
	taps := wire.New(clock())
	for i := range servers {
		tap := taps.Client(i)
		s, err := Open(ctx, inOrder(i), Options{Timeout: 2 * tick, Dial: tap.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for tap.Counts().Requests.Of(wire.Ping) < 4 {
					if err := s.barrier(ctx, path); err != nil {
						t.Error(err)
						return
					}
					if _, err := s.Exists(ctx, path); err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
		if n := tap.Counts().Connections; n != 1 {
			t.Errorf("at member %d a busy session needed %d connections", i+1, n)
		}
	}
}
