package wire

import (
	"strings"
	"testing"
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
