package chaos

import (
	"errors"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestSessionFlap(t *testing.T) {
	l := newLab(t, shared(t), 2, 10*time.Second)
	before := l.Clients[1].Session()
	begin := time.Now()
	const down = 100 * time.Millisecond
	e := inject(t, SessionFlap{Client: Waiter, Down: down}, l.Target)
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

func TestSessionFlap_TooLong(t *testing.T) {
	l := newLab(t, shared(t), 1, time.Second)
	if _, err := (SessionFlap{Client: "0", Down: 4 * time.Second}).Inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) {
		t.Errorf("a session of 1 s outlived 4 s without a connection: %v", err)
	}
}
