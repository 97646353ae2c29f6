package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
)

func TestSessionClose_endsTheSessionAndItsNodes(t *testing.T) {
	target := shared(t)
	for _, row := range []struct{ who, want string }{
		{Holder, "client 0 (holder)"},
		{Waiter, "client 1 (waiter)"},
		{"1", "client 1"},
		{"client 1", "client 1"},
		{Random, "client 0"},
	} {
		t.Run(row.who, func(t *testing.T) {
			l := connect(t, target, 2, 10*time.Second)
			n := 0
			if strings.Contains(row.want, "1") {
				n = 1
			}
			victim, id := l.conns[n], l.Clients[n].Session().ID
			path := "/close-" + strings.ReplaceAll(row.who, " ", "-")
			_, err := victim.Create(path, nil, zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
			must(t, err)
			effect, err := parse(t, "session.close", row.who).Inject(t.Context(), l.Target)
			must(t, err)
			if effect.Target != row.want || effect.Client != n || effect.Proof == "" || effect.Undo != nil {
				t.Errorf("effect %+v", effect)
			}
			if e := l.await(t, n, wire.Expired); e.Session != id {
				t.Errorf("session %#x expired, not %#x", e.Session, id)
			}
			other := l.conns[1-n]
			if _, err := other.Sync("/"); err != nil {
				t.Fatal(err)
			}
			if there, _, err := other.Exists(path); err != nil || there {
				t.Errorf("its node is there: %v, %v", there, err)
			}
			if l.Clients[1-n].Session().Expired {
				t.Error("the other client's session is gone too")
			}
		})
	}
}

func TestSessionClose_asksAMemberThatAnswers(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	m, err := l.Ensemble.Member(l.Clients[0].Session().Server)
	must(t, err)
	must(t, m.Machine.Pause(t.Context()))
	defer m.Machine.Resume(context.Background())
	_, err = parse(t, "session.close", Holder).Inject(t.Context(), l.Target)
	must(t, err)
	must(t, m.Machine.Resume(t.Context()))
	l.await(t, 0, wire.Expired)
}

func TestSessionClose_refusesWhereThereIsNothingToClose(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	nobody := l.Target
	nobody.Holder = func(bool) int { return -1 }
	several := nobody // several locks, so that several clients hold
	several.Holds = func(client int) bool { return client == 0 }
	for _, row := range []struct {
		name   string
		target Target
		who    string
		want   string
	}{
		{"a holder where nobody holds", nobody, Holder, "no client holds a grant"},
		{"a waiter where all hold", l.Target, Waiter, "none of 1 clients"},
		{"a waiter where all hold one of several locks", several, Waiter, "none of 1 clients"},
		{"a client that is not there", l.Target, "7", "client 7 (of 1 clients) does not have a session"},
		{"a word that is no client", l.Target, "hodler", `use "holder"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := clientInjector(row.who, closeSession)(ctx, row.target); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	// A session that somebody else has closed is not this fault's doing.
	l.Clients[0].SetGateClosed(true)
	endSession(t, l, 0)
	if e, err := parse(t, "session.close", "0").Inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) || e.Target != "" || e.Proof != "" {
		t.Errorf("a session that was gone before: %+v, %v", e, err)
	}
}

// A client whose session another fault has ended counts as the holder until it hears
// of it. The fault goes on to who holds next.
func TestSessionClose_picksAgainWhereTheSessionWasGone(t *testing.T) {
	l := connect(t, shared(t), 2, 10*time.Second)
	l.Clients[0].SetGateClosed(true)
	gone := endSession(t, l, 0)
	picks := 0
	l.Target.Holder = func(bool) int {
		picks++
		if picks <= 2 {
			return 0 // which is yet to hear of it
		}
		return 1
	}
	effect, err := parse(t, "session.close", Holder).Inject(t.Context(), l.Target)
	must(t, err)
	if effect.Client != 1 || picks != 3 {
		t.Errorf("hit client %d after %d picks; session %#x was gone before", effect.Client, picks, gone)
	}
	l.await(t, 1, wire.Expired)
}

// endSession closes a client's session behind its back, and returns the session once
// no member knows it: they hear of it one after the other, and until then one may take
// it in again.
func endSession(t *testing.T, l *clients, n int) int64 {
	s := l.Clients[n].Session()
	must(t, s.CloseAt(t.Context(), s.Server))
	for _, addr := range l.Ensemble.Servers() {
		must(t, poll(t.Context(), sessionCloseLimit, func(ctx context.Context) error {
			if still, err := s.KnownAt(ctx, addr); err != nil || still {
				return fmt.Errorf("%s still knows it: %v, %v", addr, still, err)
			}
			return nil
		}))
	}
	return s.ID
}

func TestSessionExpire_takesASessionTimeout(t *testing.T) {
	l := connect(t, shared(t), 2, 1500*time.Millisecond)
	id := l.Clients[0].Session().ID
	begin := time.Now()
	e := inject(t, parse(t, "session.expire", Holder), l.Target)
	if took := time.Since(begin); took < time.Second {
		t.Errorf("a session of 1.5 s was gone after %v", took)
	}
	if e.Target != "client 0 (holder)" || e.Client != 0 {
		t.Errorf("effect %+v", e)
	}
	if got := l.await(t, 0, wire.Expired); got.Session != id {
		t.Errorf("session %#x expired, not %#x", got.Session, id)
	}
	if l.Clients[1].Session().Expired {
		t.Error("the other client's session is gone too")
	}
}

func TestSessionExpire_leavesTheSessionWhenInterrupted(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := parse(t, "session.expire", "0").Inject(ctx, l.Target); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if e := l.await(t, 0, wire.Connected); !e.Resumed {
		t.Errorf("the client could not go on with its session: %+v", e)
	}
}

func TestListsSession_readsDump(t *testing.T) {
	const dump = "SessionTracker dump:\nSession Sets (2)/(2):\n1 expire at Sat Nov 21 03:03:01 UTC 2026:\n\t0x200002919430003\n" +
		"ephemeral nodes dump:\nSessions with Ephemerals (1):\n0x1000029190f0002:\n\t/close-1\n"
	for _, row := range []struct {
		name string
		id   int64
		want bool
	}{
		{"a session in a set", 0x200002919430003, true},
		{"a session that has nodes", 0x1000029190f0002, true},
		{"the start of another's id", 0x20000291943000, false},
		{"one that is not there", 0x300002919430003, false},
	} {
		if got := listsSession(dump, row.id); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func TestSessionFlap_keepsTheSession(t *testing.T) {
	l := connect(t, shared(t), 2, 10*time.Second)
	before := l.Clients[1].Session()
	begin := time.Now()
	const down = 100 * time.Millisecond
	e := inject(t, parse(t, "session.flap", Waiter, "down", down.String()), l.Target)
	if took := time.Since(begin); took < down || e.Client != 1 {
		t.Errorf("it took %v; effect %+v", took, e)
	}
	if after := l.Clients[1].Session(); after.ID != before.ID || after.Server == "" {
		t.Errorf("before %+v, after %+v", before, after)
	}
	l.await(t, 1, wire.Lost)
	if e := l.await(t, 1, wire.Connected); !e.Resumed {
		t.Errorf("event %+v", e)
	}
}

func TestSessionFlap_hasNoEffectWhereTheSessionIsLost(t *testing.T) {
	l := connect(t, shared(t), 1, time.Second)
	if _, err := parse(t, "session.flap", "0", "down", "4s").Inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) {
		t.Errorf("a session of 1 s outlived 4 s without a connection: %v", err)
	}
}

func TestSessionStorm_cutsAllClients(t *testing.T) {
	l := connect(t, shared(t), 6, 10*time.Second)
	e := inject(t, parse(t, "session.storm", "", "down", "50ms"), l.Target)
	if e.Target != "6 clients" || e.Client != -1 {
		t.Errorf("got %+v", e)
	}
	for i, c := range l.Clients {
		if s := c.Session(); s.Expired || s.Server == "" || c.Counts().Connections < 2 {
			t.Errorf("client %d: %+v", i, s)
		}
	}
}

func TestSessionFreeze_keepsRequestsUntilItHeals(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	e := inject(t, parse(t, "session.freeze", Holder), l.Target)
	done := make(chan error, 1)
	go func() {
		_, _, err := l.conns[0].Exists("/")
		done <- err
	}()
	within(t, 5*time.Second, "the request is kept back", func() bool { return l.Clients[0].Counts().Queued > 0 })
	select {
	case err := <-done:
		t.Errorf("a frozen client got an answer: %v", err)
	default:
	}
	// A second freeze is refused, and does not end the first one.
	for range 2 {
		if _, err := parse(t, "session.freeze", "0").Inject(t.Context(), l.Target); !errors.Is(err, wire.ErrHeld) {
			t.Errorf("frozen twice: %v", err)
		}
	}
	must(t, e.Heal(t.Context()))
	must(t, e.Heal(t.Context()))
	must(t, <-done)
}
