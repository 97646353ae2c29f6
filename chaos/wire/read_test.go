package wire

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

// readAll reads until the connection ends, in pieces.
func (b *bench) readAll() (got []byte, err error) {
	buf := make([]byte, 7)
	for {
		n, err := b.conn.Read(buf)
		got = append(got, buf[:n]...)
		if err != nil {
			return got, err
		}
	}
}

func TestShot_keepsAReplyAndWhatComesBehindItUntilReleased(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	b.far.live = true
	s := b.arm(Rule{Op: Create, Act: HoldReply})
	b.write(ask(1, Exists, "/a"), ask(2, Create, "/b"), ask(3, Delete, "/c"))
	first, rest := answer(1, 1, 0, "x"), slices.Concat(answer(2, 2, 0, "kept"), event(3, "/d"), answer(3, 3, 0, "behind"))
	b.read(first)
	done := b.reading(len(rest))
	b.far.feed(rest[:5], rest[5:])
	p, _ := proof(t, s)
	if !p.Committed() || p.Zxid != 2 {
		t.Errorf("proof: %+v", p)
	}
	if n := b.c.Counts(); n.Replies != 1 || n.InFlight != 2 || n.Notifications.Total() != 0 || b.c.Known().Zxid != 1 {
		t.Errorf("counted what has not reached the client: %v", n.Map())
	}
	s.Release()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := b.c.Counts(); n.Replies != 3 || n.InFlight != 0 || n.Notifications.Deleted != 0 || n.Notifications.Changed != 1 || n.Unmatched != 0 {
		t.Errorf("counted %v", n.Map())
	}
}

func TestShot_endsTheKeepingOfAReplyWithTheConnection(t *testing.T) {
	b := newBench(t)
	b.greet()
	b.far.live = true
	s := b.arm(Rule{Op: Create, Act: HoldReply})
	b.write(ask(1, Create, "/b"))
	done := b.reading(4)
	b.far.feed(answer(1, 1, 0, ""))
	proof(t, s)
	b.c.Cut()
	if err := <-done; !errors.Is(err, ErrCut) {
		t.Errorf("the reader got %v", err)
	}
	b.redial()
	b.write(hello(5), ask(1, Create, "/b"))
	b.read(welcome(5, 0), answer(1, 1, 0, ""))
}

func TestShot_cutsBehindTheReply(t *testing.T) {
	b := newBench(t)
	b.greet()
	s := b.arm(Rule{Op: Create, Act: CutReplied})
	b.write(ask(1, Create, "/a"), ask(2, Delete, "/b"))
	whole := answer(1, 1, 0, "a reply that comes in several pieces")
	b.far.feed(whole, answer(2, 2, 0, "too late"))
	got, err := b.readAll()
	if !bytes.Equal(got, whole) || !errors.Is(err, ErrCut) {
		t.Errorf("the client got %q, then %v", got, err)
	}
	if p, _ := proof(t, s); !p.Committed() || !b.far.isClosed() {
		t.Errorf("proof: %+v", p)
	}
	if n := b.c.Counts(); n.Replies != 1 || n.Abandoned != 1 {
		t.Errorf("counted %v", n.Map())
	}
}

func TestShot_aimsAtNotifications(t *testing.T) {
	for _, x := range []struct {
		act  Act
		says string // what the client gets before the cut
	}{
		{CutBefore, "reply first"},
		{CutReplied, "reply first second"},
	} {
		b := newBench(t)
		b.greet()
		any := b.arm(Rule{Act: DropReply, Nth: 9}) // takes no notification for a request
		s := b.arm(Rule{Op: Notified, Nth: 2, Act: x.act})
		b.write(ask(1, Exists, "/a"))
		parts := map[string][]byte{"reply": answer(1, 1, 0, ""), "first": event(2, "/first"), "second": event(2, "/second")}
		b.far.feed(parts["reply"], parts["first"], parts["second"], event(2, "/third"))
		var want []byte
		for _, name := range bytes.Fields([]byte(x.says)) {
			want = append(want, parts[string(name)]...)
		}
		got, err := b.readAll()
		if !bytes.Equal(got, want) || !errors.Is(err, ErrCut) {
			t.Errorf("%v: the client got %q, want %q; then %v", x.act, got, want, err)
		}
		if p, _ := proof(t, s); p.Path != "/second" || p.Op != Notified {
			t.Errorf("%v: proof %+v", x.act, p)
		}
		any.Disarm()
	}
}

func TestShot_keepsANotificationUntilReleased(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	b.far.live = true
	s := b.arm(Rule{Op: Notified, Act: HoldReply})
	frames := slices.Concat(event(2, "/first"), event(2, "/second"))
	done := b.reading(len(frames))
	b.far.feed(frames)
	proof(t, s)
	if n := b.c.Counts().Notifications.Total(); n != 0 {
		t.Errorf("%d notifications were delivered", n)
	}
	s.Disarm()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if k := b.c.Known(); k.Removed != "/second" {
		t.Errorf("the client knows %+v", k)
	}
}
