package wire

import (
	"errors"
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
	for _, tt := range []struct {
		rule Rule
		says string
	}{
		{Rule{}, "no such act"},
		{Rule{Act: CutReplied + 1}, "no such act"},
		{Rule{Op: Notified, Act: DropReply}, "a notification has no request"},
		{Rule{Act: DropReply, Nth: -1}, "counts from 1"},
		{Rule{Act: CutAfter, Keep: true}, "only drop-reply"},
		{Rule{Act: CutAfter, Delay: time.Second}, "need the act Delay"},
		{Rule{Act: Delay}, "must be over 0"},
		{Rule{Act: Delay, Delay: time.Second, Jitter: 2 * time.Second}, "from 0 to the delay"},
		{Rule{Act: Delay, Delay: time.Second, Jitter: time.Second}, "the seed decides"},
		{Rule{Act: DropReply, Path: "/[a"}, "pattern"},
	} {
		if _, err := b.c.Arm(tt.rule); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%v: got %v, want it to say %q", tt.rule, err, tt.says)
		}
	}
	b.tap.Close()
	if _, err := b.c.Arm(Rule{Act: DropReply}); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end: %v", err)
	}
}

func TestRule_drawsJitterFromTheSeed(t *testing.T) {
	r := Rule{Act: Delay, Delay: 10 * time.Millisecond, Jitter: 2 * time.Millisecond}
	for pick, want := range map[int]time.Duration{0: 8 * time.Millisecond, 2000: 10 * time.Millisecond, 4000: 12 * time.Millisecond} {
		r.Random = func(n int) int {
			if n != 4001 {
				t.Errorf("asked for one of %d", n)
			}
			return pick
		}
		if got := r.after(); got != want {
			t.Errorf("with %d drawn: %v, want %v", pick, got, want)
		}
	}
}
