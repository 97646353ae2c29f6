package wire

import (
	"testing"
	"time"
)

func TestSession_deadlineIsNoticedOnceAtItsInstant(t *testing.T) {
	reconnect := func(session int64, timeout time.Duration) func(b *bench) {
		return func(b *bench) { b.redial(); b.write(hello(session)); b.read(welcome(session, timeout)) }
	}
	for _, row := range []struct {
		about         string
		before, after func(b *bench) // the deadline of session 5; may be nil
		want          int
	}{
		{"now and then", nil, nil, 1},
		{"when the session is acknowledged again", nil,
			func(b *bench) { b.write(ask(1, Exists, "/")); b.read(answer(1, 1, 0, "")) }, 1},
		{"when it has another connection", nil, reconnect(5, time.Minute), 1},
		{"when another session has replaced it", nil, reconnect(6, time.Hour), 1},
		{"although another session has replaced it before", reconnect(6, time.Hour), nil, 1},
		{"but not if its client has closed it",
			func(b *bench) { b.write(ask(1, CloseSession, "")); b.read(answer(1, 1, 0, "")) }, nil, 0},
	} {
		t.Run(row.about, func(t *testing.T) {
			b := newBench(t)
			b.write(hello(0)) // at 1 s
			b.read(welcome(5, time.Minute))
			if row.before != nil {
				row.before(b)
			}
			b.tap.checkDeadlines()
			if len(b.missed) > 0 {
				t.Errorf("early: %+v", b.missed)
			}
			for range 60 { // seconds
				b.tap.now()
			}
			if row.after != nil {
				row.after(b)
			}
			b.tap.checkDeadlines()
			b.tap.checkDeadlines()
			if len(b.missed) != row.want {
				t.Errorf("%d deadlines: %+v", len(b.missed), b.missed)
			}
			for _, e := range b.missed {
				if e.At != 61*time.Second || e.Session != 5 {
					t.Errorf("a deadline of session %d at %v, want one of session 5 at 1m1s", e.Session, e.At)
				}
			}
		})
	}
}
