package wire

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestRule_matchesOpcodeAndPath(t *testing.T) {
	for _, tt := range []struct {
		name string
		rule Rule
		op   Op
		path string
		want bool
	}{
		{"any opcode and no path match all", Rule{}, Ping, "", true},
		{"another opcode does not match", Rule{Op: Create}, Delete, "/a", false},
		{"a change is one of several", Rule{Op: AnyChange}, Create2, "/a", true},
		{"a read is no change", Rule{Op: AnyChange}, Exists, "/a", false},
		{"a read is one of several", Rule{Op: AnyRead}, GetChildren2, "/a", true},
		{"a change is no read", Rule{Op: AnyRead}, Delete, "/a", false},
		{"a star stands for one name", Rule{Path: "/lock/*"}, Create, "/lock/x-1", true},
		{"a star stays within its level", Rule{Path: "/lock/*"}, Create, "/lock/x/y", false},
		{"part of a name", Rule{Path: "/lock/_c_*-lock-"}, Create, "/lock/_c_0a-lock-", true},
		{"two stars go down all levels", Rule{Path: "/lock/**"}, Create, "/lock/x/y/z", true},
		{"two stars leave out the node itself", Rule{Path: "/lock/**"}, Create, "/lock", false},
		{"two stars leave out the neighbour", Rule{Path: "/lock/**"}, Create, "/locks/a", false},
		{"two stars behind a star", Rule{Path: "/*/lock/**"}, Create, "/a/lock/x/y", true},
		{"two stars at the top are everything", Rule{Path: "/**"}, Create, "/a/b", true},
		{"two stars at the top leave out the root", Rule{Path: "/**"}, Create, "/", false},
		{"a request without a path matches no pattern", Rule{Path: "/**"}, Ping, "", false},
	} {
		if got := tt.rule.matches(tt.op, []byte(tt.path)); got != tt.want {
			t.Errorf("%s: %v", tt.name, got)
		}
	}
}

func TestClient_Arm_refusesNonsense(t *testing.T) {
	b := newBench(t)
	if _, err := b.c.Arm(Rule{Act: DropReply, Path: "/[a"}); err == nil || !strings.Contains(err.Error(), "pattern") {
		t.Errorf("got %v", err)
	}
	b.tap.Close()
	if _, err := b.c.Arm(Rule{Act: DropReply}); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func proof(t *testing.T, s *armedRule) (Proof, bool) {
	t.Helper()
	select {
	case p, ok := <-s.Fired():
		return p, ok
	case <-time.After(10 * time.Second):
		t.Fatal("the shot neither fired nor ended")
		return Proof{}, false
	}
}

func TestShot_countsFromArmingAcrossConnections(t *testing.T) {
	b := openBench(t)
	b.write(ask(1, Create, "/a")) // not counted
	s := b.arm(Rule{Op: Create, Path: "/*", Nth: 3, Act: DropRequest})
	b.write(ask(2, Create, "/a"), ask(3, Delete, "/a"), ask(4, Create, "/a"))
	b.c.Cut()
	b.redial()
	b.write(hello(5))
	before := len(b.far.sent())
	if len(s.fired) > 0 {
		t.Fatal("fired too early")
	}
	b.write(ask(5, Create, "/third"))
	p, _ := proof(t, s)
	if p.Path != "/third" || p.Xid != 5 || p.Err != nil || p.Replied || p.Committed() {
		t.Errorf("proof: %+v", p)
	}
	if len(b.far.sent()) != before || !b.far.isClosed() {
		t.Error("the dropped request got through, or the connection is still there")
	}
	b.redial()
	b.write(hello(5), ask(6, Create, "/fourth")) // once is once
}

func TestShot_hitsOneRequestEach(t *testing.T) {
	b := openBench(t)
	first := b.arm(Rule{Op: Create, Act: DropReply, Keep: true})
	second := b.arm(Rule{Op: Create, Act: DropReply, Keep: true})
	b.write(ask(1, Create, "/a"), ask(2, Create, "/b"), ask(3, Create, "/c"))
	b.far.feed(answer(1, 11, 0, "x"), answer(2, 12, -110, ""))
	b.read(answer(3, 13, 0, ""))
	p, _ := proof(t, first)
	q, _ := proof(t, second)
	if p.Xid != 1 || p.Zxid != 11 || !p.Committed() || q.Xid != 2 || q.Code != -110 || q.Committed() || !q.Replied {
		t.Errorf("proofs: %v; %v", p, q)
	}
	if n := b.c.Counts(); n.Replies != 1 || n.Abandoned != 2 || n.InFlight != 0 {
		t.Errorf("counted %v", n.Map())
	}
}

func TestShot_leavesAFrameAloneThatHasBegun(t *testing.T) {
	b := openBench(t)
	f, g := ask(1, Create, "/a"), ask(2, Create, "/b")
	b.write(f[:10])
	s := b.arm(Rule{Op: Create, Act: DropRequest})
	b.write(f[10:])
	if len(s.fired) > 0 || b.far.isClosed() || !bytes.HasSuffix(b.far.sent(), f) {
		t.Error("half a request was dropped")
	}
	b.write(g)
	if p, _ := proof(t, s); p.Xid != 2 {
		t.Errorf("proof: %+v", p)
	}
}

func TestShot_failsTheWriteThatItCutsBefore(t *testing.T) {
	b := openBench(t)
	s := b.arm(Rule{Op: Create, Act: CutBefore})
	before := b.far.sent()
	f := slices.Concat(ask(1, Exists, "/a"), ask(2, Create, "/b"), ask(3, Exists, "/c"))
	if _, err := b.conn.Write(f); !errors.Is(err, ErrCut) {
		t.Errorf("the write returned %v", err)
	}
	if want := append(before, ask(1, Exists, "/a")...); !bytes.Equal(b.far.sent(), want) {
		t.Error("not exactly what stood before the request was sent")
	}
	if p, ok := proof(t, s); !ok || p.Xid != 2 {
		t.Errorf("proof: %+v", p)
	}
}

func TestShot_hasNoEffectWhereTheConnectionEndsFirst(t *testing.T) {
	for _, act := range []Act{DropReply, CutReplied} {
		b := openBench(t)
		s := b.arm(Rule{Op: Create, Act: act})
		b.write(ask(1, Create, "/a"))
		b.c.Cut()
		if p, ok := proof(t, s); !ok || p.Err == nil || p.Committed() {
			t.Errorf("%v: proof %+v", act, p)
		}
		if !b.c.isPassThrough() {
			t.Errorf("%v: the rule is still in force", act)
		}
	}
}

func TestShot_canBeDisarmedOnce(t *testing.T) {
	b := openBench(t)
	idle := b.arm(Rule{Op: Create, Act: DropReply})
	if !idle.Disarm() || idle.Disarm() {
		t.Error("an idle rule can be disarmed once")
	}
	if _, ok := proof(t, idle); ok {
		t.Error("a disarmed rule fired")
	}
	late := b.arm(Rule{Op: Create, Act: DropReply})
	b.arm(never) // keeps the bytes on the long way
	b.write(ask(1, Create, "/a"))
	if !late.Disarm() {
		t.Error("a rule that waits for its reply can be disarmed")
	}
	b.read(answer(1, 1, 0, ""))
	kept := b.arm(Rule{Op: Create, Act: HoldRequest})
	b.write(ask(2, Create, "/b"))
	if kept.Disarm() {
		t.Error("a rule that holds its request has fired")
	}
	Until(b.tb, "the request is released", func() bool { return bytes.HasSuffix(b.far.sent(), ask(2, Create, "/b")) })
	b.read(answer(2, 1, 0, ""))
	if n := b.c.Counts(); n.Replies != 2 || n.InFlight != 0 || n.Queued != 0 || len(b.c.armedRules) != 1 {
		t.Errorf("afterwards: %v", n.Map())
	}
}
