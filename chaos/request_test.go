package chaos

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/zkbench/zkbench/chaos/wire"
)

// aimed returns the rule with the request that a fault's parameters say.
func aimed(t *testing.T, name string, params map[string]string) wire.Rule {
	t.Helper()
	k, err := KindOf(name)
	must(t, err)
	s, err := k.settings(params)
	must(t, err)
	rule := aim(wire.Rule{}, s)
	must(t, s.err())
	return rule
}

func TestParse_readsWhichRequest(t *testing.T) {
	got := aimed(t, "reply.drop", map[string]string{"op": "create", "path": "/lock/**", "nth": "2", "within": "1s", "keep": "true"})
	if want := (wire.Rule{Op: wire.Create, Path: "/lock/**", Nth: 2}); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
	for _, row := range []struct {
		name, param, value, want string
	}{
		{"an opcode without a name", "op", "op 42", `"op 42" is not a kind of request`},
		{"an opcode with a slip", "op", "craete", `parameter op: "craete" is not a kind of request; known: addWatch, any, auth, change, check`},
		{"a match before the first", "nth", "0", "is not a whole number from 1"},
		{"a duration without a unit", "within", "5", "is not a duration"},
		{"a broken pattern", "path", "/[", "is not a valid pattern"},
		{"neither true nor false", "keep", "perhaps", "neither true nor false"},
		{"a parameter with a slip", "opp", "create", `"opp" is not a parameter of this fault; known: op, path, nth, within, keep`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Parse("reply.drop", "", map[string]string{row.param: row.value})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestParse_readsEveryKindOfRequest(t *testing.T) {
	for _, op := range []wire.Op{wire.Any, wire.Create, wire.GetChildren2, wire.CloseSession, wire.WhoAmI} {
		if got := aimed(t, "request.drop", map[string]string{"op": op.String()}).Op; got != op {
			t.Errorf("%s: got %s", op, got)
		}
	}
}

func TestRequestDrop_keepsARequestFromTheServer(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	unanswered := l.createUntilError(0, "/request-drop")
	e := inject(t, parse(t, "request.drop", "0", "op", "create", "path", "/request-drop-*"), l.Target)
	path := <-unanswered
	if !strings.Contains(e.Proof, path+" ") {
		t.Errorf("%s was not answered, and the proof is %s", path, e.Proof)
	}
	there, _, err := l.conns[0].Exists(path)
	for deadline := time.Now().Add(10 * time.Second); errors.Is(err, zk.ErrNoServer) && time.Now().Before(deadline); {
		there, _, err = l.conns[0].Exists(path) // the client reconnects after the fault
	}
	if err != nil || there {
		t.Errorf("the node was created: %v, %v", there, err)
	}
}

func TestRequestHold_lastsUntilItHeals(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	took := l.askOften(ctx, 0)
	e := inject(t, parse(t, "request.hold", "0", "op", "exists", "nth", "2"), l.Target)
	for len(took) > 0 { // answered before
		<-took
	}
	if n := l.Clients[0].Counts().Queued; n == 0 {
		t.Error("nothing is kept back")
	}
	begin := time.Now()
	const held = 100 * time.Millisecond
	select {
	case <-took:
		t.Errorf("a held request was answered %v later", time.Since(begin))
	case <-time.After(held):
	}
	must(t, e.Heal(t.Context()))
	must(t, e.Heal(t.Context()))
	if d := <-took; d < held {
		t.Errorf("the request that was held for %v took %v", held, d)
	}
}

func TestReplyDrop_hidesARequestThatWasCarriedOut(t *testing.T) {
	l := connect(t, shared(t), 1, 10*time.Second)
	unanswered := l.createUntilError(0, "/reply-drop")
	e := inject(t, parse(t, "reply.drop", "0", "op", "create", "path", "/reply-drop-*", "nth", "3"), l.Target)
	if !strings.Contains(e.Proof, "dropped its reply: success") || e.Client != 0 {
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
