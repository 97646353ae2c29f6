package wire

import (
	"errors"
	"testing"
	"time"
)

// called returns a bench whose calls are appended to the slice.
func called(t *testing.T) (*bench, *[]Call) {
	b, all := newBench(t), &[]Call{}
	t.Cleanup(b.tap.Close)
	b.tap.OnCall(func(c Call) { *all = append(*all, c) })
	b.greet()
	return b, all
}

func TestTap_OnCall_hasTheReply(t *testing.T) {
	b, all := called(t)
	b.write(ask(7, Create, "/a"), ask(8, Delete, "/b"))
	b.read(answer(7, 41, 0, ""), answer(8, 42, -101, ""))
	if len(*all) != 2 {
		t.Fatalf("calls %+v", *all)
	}
	for i, want := range []Call{
		{Session: 5, Op: Create, Path: "/a", Xid: 7, Zxid: 41},
		{Session: 5, Op: Delete, Path: "/b", Xid: 8, Zxid: 42, Code: -101},
	} {
		got := (*all)[i]
		if got.Sent <= 0 || got.Replied <= got.Sent {
			t.Errorf("sent at %v, replied at %v", got.Sent, got.Replied)
		}
		if got.Sent, got.Replied = 0, 0; got != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	}
}

func TestTap_OnCall_hasTheCallsWithoutAReply(t *testing.T) {
	b, all := called(t)
	b.arm(Rule{Op: Create, Act: DropReply, Keep: true})
	b.write(ask(7, Create, "/a"), ask(8, Delete, "/b"), ask(9, Exists, "/c"))
	b.far.feed(answer(7, 41, 0, ""))
	b.read(answer(8, 42, 0, ""))
	b.c.Cut()
	if len(*all) != 3 {
		t.Fatalf("calls %+v", *all)
	}
	if c := (*all)[0]; c.Xid != 7 || c.Zxid != 41 || !errors.Is(c.Err, errSwallowed) {
		t.Errorf("swallowed: %+v", c)
	}
	if c := (*all)[1]; c.Xid != 8 || c.Err != nil {
		t.Errorf("answered: %+v", c)
	}
	if c := (*all)[2]; c.Xid != 9 || c.Replied != 0 || c.Zxid != 0 || !errors.Is(c.Err, ErrCut) {
		t.Errorf("never answered: %+v", c)
	}
}

func TestClient_Zxid_isTheHighestThatReachedTheClient(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	if got := b.c.Known().Zxid; got != 0 {
		t.Errorf("before the first reply: %d", got)
	}
	b.write(ask(1, Create, "/a"), ask(2, Exists, "/a"), ask(3, Create, "/b"))
	b.read(answer(1, 41, 0, ""), event(1, "/a"), answer(2, 40, 0, ""))
	b.arm(Rule{Op: Create, Act: DropReply, Keep: true})
	b.write(ask(4, Create, "/c"))
	b.read(answer(3, 42, 0, ""))
	b.far.feed(answer(4, 43, 0, ""))
	_, _ = b.conn.Read(make([]byte, 1)) // the end of the tape, behind the swallowed reply
	if got := b.c.Known().Zxid; got != 42 {
		t.Errorf("got %d, want 42", got)
	}
}

// BenchmarkCall is BenchmarkFrame with a hook that counts the calls.
func BenchmarkCall(b *testing.B) {
	start, calls := time.Now(), 0
	tap := New(func() time.Duration { return time.Since(start) })
	tap.OnCall(func(Call) { calls++ })
	passFrames(b, tap)
	if calls == 0 {
		b.Fatal("no calls")
	}
}
