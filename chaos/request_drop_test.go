package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestRequestDrop_keepsARequestFromTheServer(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	unanswered := l.createUntilError(0, "/request-drop")
	e := inject(t, requestDrop{request{client: "0", op: wire.Create, path: "/request-drop-*", nth: 1, within: 10 * time.Second}}, l.Target)
	path := <-unanswered
	if !strings.Contains(e.Proof, path+" ") {
		t.Errorf("%s was not answered, and the proof is %s", path, e.Proof)
	}
	if there, _, err := l.conns[0].Exists(path); err != nil || there {
		t.Errorf("the node was created: %v, %v", there, err)
	}
}
