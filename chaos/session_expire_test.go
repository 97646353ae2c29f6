package chaos

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

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
