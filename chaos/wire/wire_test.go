package wire

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// Before version 3.9 a notification has no zxid: until the next reply, the client may know of later commits.
func TestClient_Known_followsWhatReachesTheClient(t *testing.T) {
	const deleted, changed, child = 2, 3, 4
	b := openBench(t)
	b.write(ask(1, Create, "/a"), ask(2, Exists, "/a"))
	for _, step := range []struct {
		what  string
		frame []byte
		want  Known // a time of 1 stands for any
	}{
		{"before the first reply", nil, Known{}},
		{"a reply", answer(1, 41, 0, ""), Known{Zxid: 41}},
		{"a notification", event(changed, "/a"), Known{Zxid: 41, Notified: true}},
		{"a reply with a lower zxid", answer(2, 40, 0, ""), Known{Zxid: 41}},
		{"a notification with a zxid", frame(be32(-1), be64(50), be32(0), be32(child), be32(3), text("/line")),
			Known{Zxid: 50, Notified: true}},
		{"changed children without a zxid", event(child, "/line"), Known{Zxid: 50, Notified: true, ChangedAt: 1}},
		{"a removed path that is longer than a head", event(deleted, "/"+strings.Repeat("x", 400)),
			Known{Zxid: 50, Notified: true, ChangedAt: 1}},
		{"a removed node", event(deleted, "/line/n-1"),
			Known{Zxid: 50, Notified: true, ChangedAt: 1, Removed: "/line/n-1", RemovedAt: 1}},
		{"changed data", event(changed, "/line"),
			Known{Zxid: 50, Notified: true, ChangedAt: 1, Removed: "/line/n-1", RemovedAt: 1}},
	} {
		b.read(step.frame)
		got := b.c.Known()
		got.ChangedAt, got.RemovedAt = min(got.ChangedAt, 1), min(got.RemovedAt, 1)
		if got != step.want {
			t.Errorf("%s: %+v, want %+v", step.what, got, step.want)
		}
	}
	b.arm(Rule{Op: Create, Act: DropReply, Keep: true})
	b.write(ask(3, Create, "/c"))
	b.far.feed(answer(3, 60, 0, ""))
	_, _ = b.readAll()
	if got := b.c.Known(); got.Zxid != 50 || !got.Notified {
		t.Errorf("after a dropped reply: %+v", got)
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
			b := openBench(t)
			if cut > 0 {
				b.far.cuts = bytes.Repeat([]byte{cut - 1}, 6000)
			}
			b.write(ask(1, c.op, "/line"), ask(2, Ping, ""))
			b.read(answer(1, 41, c.code, c.body), answer(2, 41, 0, ""))
			if got := b.c.Known().Zxid; got != c.want {
				t.Errorf("%v with %d bytes in pieces of %d: %d, want %d", c.op, len(c.body), cut, got, c.want)
			}
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
		{func(*Proof) {}, "drop-reply create /lock/* #2 matched create /lock/a xid 4 of client 17 at 1s, dropped its reply: success at zxid 0x1f"},
		{func(p *Proof) { p.Code = -110 }, "drop-reply create /lock/* #2 matched create /lock/a xid 4 of client 17 at 1s, dropped its reply: error -110 at zxid 0x1f"},
		{func(p *Proof) { p.Err = errEndedFirst }, "drop-reply create /lock/* #2 matched create /lock/a xid 4 of client 17 at 1s, without effect: the connection ended first"},
	} {
		q := p
		tt.change(&q)
		if got := q.String(); got != tt.want {
			t.Errorf("got  %s\nwant %s", got, tt.want)
		}
	}
}
