package wire

import (
	"testing"
	"time"
)

// deadlines returns the instants of the deadlines that were delivered, and of whose
// sessions they are.
func (b *bench) deadlines() (at []time.Duration, sessions []int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.missed {
		at, sessions = append(at, e.At), append(sessions, e.Session)
	}
	return at, sessions
}

// idle lets so many seconds pass on the bench's clock.
func (b *bench) idle(seconds int) {
	for range seconds {
		b.tap.now()
	}
}

func TestSession_deadlineIsNoticedOnceAtItsInstant(t *testing.T) {
	for _, row := range []struct {
		about   string
		then    func(b *bench)
		session int64
	}{
		{"now and then", func(b *bench) { b.tap.checkDeadlines(); b.tap.checkDeadlines() }, 5},
		{"when the session is acknowledged again", func(b *bench) { b.write(ask(1, Exists, "/")); b.read(answer(1, 1, 0, "")) }, 5},
		{"when it has another connection", func(b *bench) { b.redial(); b.write(hello(5)); b.read(welcome(5, 4*time.Second)) }, 5},
		{"when another session has taken its place", func(b *bench) { b.redial(); b.write(hello(0)); b.read(welcome(6, time.Hour)) }, 5},
	} {
		t.Run(row.about, func(t *testing.T) {
			b := newBench(t)
			defer b.tap.Close()
			b.write(hello(0)) // at 1 s
			b.read(welcome(5, 4*time.Second))
			b.idle(6)
			row.then(b)
			if at, sessions := b.deadlines(); len(at) != 1 || at[0] != 5*time.Second || sessions[0] != row.session {
				t.Errorf("deadlines at %v of sessions %v, want one of session %d at 5s", at, sessions, row.session)
			}
		})
	}
}

func TestSession_deadlineOfOneThatWasReplacedStillPasses(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.write(hello(0)) // at 1 s
	b.read(welcome(5, time.Minute))
	b.redial()
	b.write(hello(0))
	b.read(welcome(6, time.Hour))
	b.tap.checkDeadlines()
	if at, _ := b.deadlines(); len(at) > 0 {
		t.Errorf("deadlines at %v, before any has passed", at)
	}
	b.idle(60)
	b.tap.checkDeadlines()
	if at, sessions := b.deadlines(); len(at) != 1 || at[0] != 61*time.Second || sessions[0] != 5 {
		t.Errorf("deadlines at %v of sessions %v, want one of session 5 at 1m1s", at, sessions)
	}
}

func TestSession_thatItsClientClosedHasNoDeadline(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.write(hello(0))
	b.read(welcome(5, time.Minute))
	b.write(ask(1, CloseSession, ""))
	b.read(answer(1, 1, 0, ""))
	b.idle(100)
	b.tap.checkDeadlines()
	if at, _ := b.deadlines(); len(at) > 0 {
		t.Errorf("deadlines at %v", at)
	}
}
