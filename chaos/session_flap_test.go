package chaos

import (
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

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
