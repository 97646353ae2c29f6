package chaos

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
)

func TestReplyDrop_hidesARequestThatWasCarriedOut(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	unanswered := l.createUntilError(0, "/reply-drop")
	e := inject(t, parse(t, "reply.drop", "0", "op", "create", "path", "/reply-drop-*", "nth", "3"), l.Target)
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

func TestReplyDrop_keepsTheConnectionWhereAsked(t *testing.T) {
	for _, keep := range []string{"true", "false"} {
		t.Run(keep, func(t *testing.T) {
			l := connect(t, shared(t), 1, 10*time.Second)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			l.askOften(ctx, 0)
			inject(t, parse(t, "reply.drop", "0", "op", "exists", "keep", keep), l.Target)
			if kept := l.Clients[0].Session().Server != ""; kept != (keep == "true") {
				t.Errorf("the connection was kept: %v", kept)
			}
		})
	}
}

func TestReplyDrop_hasNoEffectWhereNothingMatches(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	f := parse(t, "reply.drop", "0", "op", "delete", "within", "50ms")
	if _, err := f.Inject(t.Context(), l.Target); !errors.Is(err, ErrNoEffect) || !strings.Contains(err.Error(), "within 50ms") {
		t.Errorf("got %v", err)
	}
	// The rule is out of force: a delete is answered.
	if err := l.conns[0].Delete("/nobody", -1); !errors.Is(err, zk.ErrNoNode) {
		t.Errorf("got %v", err)
	}
}
