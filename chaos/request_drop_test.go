package chaos

import (
	"strings"
	"testing"
	"time"
)

func TestRequestDrop_keepsARequestFromTheServer(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	unanswered := l.createUntilError(0, "/request-drop")
	e := inject(t, parse(t, "request.drop", "0", "op", "create", "path", "/request-drop-*"), l.Target)
	path := <-unanswered
	if !strings.Contains(e.Proof, path+" ") {
		t.Errorf("%s was not answered, and the proof is %s", path, e.Proof)
	}
	if there, _, err := l.conns[0].Exists(path); err != nil || there {
		t.Errorf("the node was created: %v, %v", there, err)
	}
}
