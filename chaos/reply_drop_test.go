package chaos

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestReplyDrop(t *testing.T) {
	l := newLab(t, shared(t), 1, 10*time.Second)
	unanswered := l.createUntilError(0, "/reply-drop")
	e := inject(t, ReplyDrop{Aim: Aim{Client: "0", Op: wire.Create, Path: "/reply-drop-*", Nth: 3, Within: 10 * time.Second}}, l.Target)
	if !strings.Contains(e.Proof, "swallowed its success") || e.Client != 0 {
		t.Errorf("effect %+v", e)
	}
	path := <-unanswered
	if !strings.Contains(e.Proof, path+" ") {
		t.Errorf("%s was not answered, and the proof is %s", path, e.Proof)
	}
	if there, _, err := l.conns[0].Exists(path); err != nil || !there {
		t.Errorf("the node was not created: %v, %v", there, err)
	}
}

func TestReplyDrop_NothingMatches(t *testing.T) {
	l := newLab(t, shared(t), 1, 10*time.Second)
	f := ReplyDrop{Aim: Aim{Client: "0", Op: wire.Delete, Nth: 1, Within: 50 * time.Millisecond}}
	if _, err := f.Inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("got %v", err)
	}
	// The rule is out of force: a delete is answered.
	if err := l.conns[0].Delete("/nobody", -1); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("got %v", err)
	}
}
