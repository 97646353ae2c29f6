package wire

import (
	"bytes"
	"errors"
	"slices"
	"testing"
)

func TestShot_keepsAFrameAndWhatComesBehindItUntilReleased(t *testing.T) {
	frames := [][]byte{answer(1, 1, 0, "x"), event(2, "/first"),
		answer(2, 2, 0, "kept"), event(2, "/second"), answer(3, 3, 0, "behind")}
	for _, row := range []struct {
		rule    Rule
		release func(*armedRule)
		before  int // frames before the kept one
	}{
		{Rule{Op: Create, Act: HoldReply}, (*armedRule).Release, 2},
		{Rule{Op: Notified, Act: HoldReply}, func(s *armedRule) { s.Disarm() }, 1},
	} {
		b := openBench(t)
		b.far.live = true
		s := b.arm(row.rule)
		b.write(ask(1, Exists, "/a"), ask(2, Create, "/b"), ask(3, Delete, "/c"))
		b.read(frames[:row.before]...)
		rest := slices.Concat(frames[row.before:]...)
		done := b.reading(len(rest))
		b.far.feed(rest[:5], rest[5:])
		if p, _ := proof(t, s); row.rule.Op == Create && (!p.Committed() || p.Zxid != 2) {
			t.Errorf("proof: %+v", p)
		}
		if n := b.c.Counts(); n.Replies != 1 || n.InFlight != 2 ||
			n.Notifications.Deleted != int64(row.before-1) || b.c.Known().Zxid != 1 {
			t.Errorf("%v: counted what has not reached the client: %v", row.rule, n.Map())
		}
		row.release(s)
		b.check(<-done)
		if n := b.c.Counts(); n.Replies != 3 || n.InFlight != 0 || n.Notifications.Deleted != 2 || n.Unmatched != 0 {
			t.Errorf("%v: counted %v", row.rule, n.Map())
		}
		if k := b.c.Known(); k.Removed != "/second" || k.Zxid != 3 {
			t.Errorf("%v: the client knows %+v", row.rule, k)
		}
	}
}

func TestShot_endsTheKeepingOfAReplyWithTheConnection(t *testing.T) {
	b := openBench(t)
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

func TestShot_cutsAtTheFrameThatItHits(t *testing.T) {
	frames := [][]byte{answer(1, 1, 0, "first"), event(2, "/first"), event(2, "/second"),
		answer(2, 2, 0, "a reply that comes in several pieces"), answer(3, 3, 0, "too late")}
	for _, row := range []struct {
		rule                              Rule
		delivered                         int // frames
		replies, notifications, abandoned int64
		path                              string
	}{
		{Rule{Op: Delete, Act: DropReply}, 3, 1, 2, 2, "/b"},
		{Rule{Op: Delete, Act: CutReplied}, 4, 2, 2, 1, "/b"},
		{Rule{Op: Notified, Nth: 2, Act: CutBefore}, 2, 1, 1, 2, "/second"},
		{Rule{Op: Notified, Nth: 2, Act: CutReplied}, 3, 1, 2, 2, "/second"},
	} {
		t.Run(row.rule.String(), func(t *testing.T) {
			b := openBench(t)
			fourth := b.arm(Rule{Act: DropReply, Nth: 4}) // does not count notifications as requests
			s := b.arm(row.rule)
			b.write(ask(1, Create, "/a"), ask(2, Delete, "/b"), ask(3, Create, "/c"))
			b.far.feed(frames...)
			want := slices.Concat(frames[:row.delivered]...)
			if got, err := b.readAll(); !bytes.Equal(got, want) || !errors.Is(err, ErrCut) {
				t.Errorf("the client got %q, want %q; then %v", got, want, err)
			}
			p, _ := proof(t, s)
			isReply := row.rule.Op == Delete
			if p.Op != row.rule.Op || p.Path != row.path || p.Session != 5 ||
				p.Committed() != isReply || isReply && p.Zxid != 2 {
				t.Errorf("proof: %+v", p)
			}
			n := b.c.Counts()
			if n.Replies != row.replies || n.Abandoned != row.abandoned ||
				n.Notifications.Deleted != row.notifications || n.BytesIn != int64(len(want)+len(welcome(5, 0))) {
				t.Errorf("counted %v", n.Map())
			}
			if !b.far.isClosed() || !fourth.Disarm() {
				t.Error("the connection is open, or the other rule has fired")
			}
		})
	}
}
