package chaos

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestReplyDrop_hidesARequestThatWasCarriedOut(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	unanswered := l.createUntilError(0, "/reply-drop")
	e := inject(t, replyDrop{request: request{client: "0", op: wire.Create, path: "/reply-drop-*", nth: 3, within: 10 * time.Second}}, l.Target)
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

func TestReplyDrop_hasNoEffectWhereNothingMatches(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	f := replyDrop{request: request{client: "0", op: wire.Delete, nth: 1, within: 50 * time.Millisecond}}
	if _, err := f.inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("got %v", err)
	}
	// The rule is out of force: a delete is answered.
	if err := l.conns[0].Delete("/nobody", -1); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("got %v", err)
	}
}
