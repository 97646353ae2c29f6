package wire

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestClient_Known_hasTheHighestZxidThatReachedTheClient(t *testing.T) {
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

func TestClient_Known_hasTheNodeOfWhoseRemovalTheClientWasNotified(t *testing.T) {
	const deleted, changed = 2, 3
	for _, c := range []struct{ path, want string }{
		{"/line/n-1", "/line/n-1"},
		{"/" + strings.Repeat("x", 400), ""}, // there is no room for it
	} {
		b := newBench(t)
		b.greet()
		b.read(event(changed, "/line"), event(deleted, c.path), event(changed, "/line"))
		if got := b.c.Known(); got.Removed != c.want || (got.RemovedAt > 0) != (c.want != "") {
			t.Errorf("%.20s: %+v", c.path, got)
		}
		b.tap.Close()
	}
}

// A server that applies a transaction answers a read with the new state and the zxid before.
func TestClient_Known_hasTheZxidOfAReplysStat(t *testing.T) {
	stat := func(pzxid int64) string { return strings.Repeat("s", 60) + string(be64(pzxid)) }
	for _, c := range []struct {
		op   Op
		code int
		body string
		want int64
	}{
		{GetChildren2, 0, "[n-1 n-2]" + stat(43), 43},
		{GetChildren2, 0, strings.Repeat("n", 284-16-68-4) + stat(43), 43}, // the Stat's end is not in the head
		{GetChildren2, 0, strings.Repeat("n", 5000) + stat(43), 43},
		{GetData, 0, stat(43), 43},
		{Exists, 0, stat(43), 43},
		{Exists, 0, stat(7), 41},
		{Exists, -101, "", 41},
		{GetChildren, 0, stat(43), 41},
	} {
		for _, cut := range []byte{0, 1, 7, 100} {
			b := newBench(t)
			if cut > 0 {
				b.far.cuts = bytes.Repeat([]byte{cut - 1}, 6000)
			}
			b.greet()
			b.write(ask(1, c.op, "/line"), ask(2, Ping, ""))
			b.read(answer(1, 41, c.code, c.body), answer(2, 41, 0, ""))
			if got := b.c.Known().Zxid; got != c.want {
				t.Errorf("%v with %d bytes in pieces of %d: %d, want %d", c.op, len(c.body), cut, got, c.want)
			}
			b.tap.Close()
		}
	}
}

// The zxid of a notification is that of its transaction since version 3.9, and -1 before.
func TestClient_Known_hasTheZxidOfANotification(t *testing.T) {
	const changed = 4
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	b.read(frame(be32(-1), be64(50), be32(0), be32(changed), be32(3), text("/line")))
	if got := b.c.Known(); got.Zxid != 50 || got.ChangedAt != 0 {
		t.Errorf("with a zxid: %+v", got)
	}
	b.read(event(changed, "/line"))
	if got := b.c.Known(); got.Zxid != 50 || got.ChangedAt == 0 {
		t.Errorf("without: %+v", got)
	}
}

// A notification has no zxid before version 3.9: until the next reply, the client may know of later commits.
func TestClient_Known_isOpenAfterANotification(t *testing.T) {
	b := newBench(t)
	defer b.tap.Close()
	b.greet()
	b.write(ask(1, Exists, "/a"), ask(2, Exists, "/a"))
	for i, frame := range [][]byte{answer(1, 41, 0, ""), event(1, "/a"), answer(2, 42, 0, "")} {
		b.read(frame)
		if got := b.c.Known().Notified; got != (i == 1) {
			t.Errorf("after frame %d: %v", i, got)
		}
	}
}

func TestProof_saysWhatTheRuleDid(t *testing.T) {
	r := Rule{Op: Create, Path: "/lock/*", Nth: 2, Act: DropReply}
	p := Proof{Rule: r, Client: 17, Op: Create, Path: "/lock/a", Xid: 4, Matched: time.Second, Replied: true, Zxid: 0x1f}
	for _, tt := range []struct {
		change func(*Proof)
		want   string
	}{
		{func(*Proof) {}, "drop-reply create /lock/* #2 hit create /lock/a xid 4 of client 17 at 1s, dropped its reply: success at zxid 0x1f"},
		{func(p *Proof) { p.Code = -110 }, "drop-reply create /lock/* #2 hit create /lock/a xid 4 of client 17 at 1s, dropped its reply: error -110 at zxid 0x1f"},
		{func(p *Proof) { p.Err = errEndedFirst }, "drop-reply create /lock/* #2 hit create /lock/a xid 4 of client 17 at 1s, without effect: the connection ended first"},
	} {
		q := p
		tt.change(&q)
		if got := q.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
