package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestParse_readsWhichRequest(t *testing.T) {
	f, err := Parse("reply.drop", "3", map[string]string{"op": "create", "path": "/lock/**", "nth": "2", "within": "1s", "keep": "true"})
	must(t, err)
	want := replyDrop{request: request{client: "3", op: wire.Create, path: "/lock/**", nth: 2, within: time.Second}, keep: true}
	if f != (named{"reply.drop", want}) {
		t.Errorf("got %+v", f)
	}
	for _, row := range []struct {
		name, param, value, want string
	}{
		{"an opcode without a name", "op", "op 42", `"op 42" is no kind of request`},
		{"an opcode with a slip", "op", "craete", `parameter op: "craete" is no kind of request; there is addWatch, any, auth, check`},
		{"a match before the first", "nth", "0", "no whole number from 1"},
		{"a duration without a unit", "within", "5", "is no duration"},
		{"a broken pattern", "path", "/[", "is no pattern"},
		{"neither true nor false", "keep", "perhaps", "neither true nor false"},
		{"a parameter with a slip", "opp", "create", `"opp" is no parameter of it; there is op, path, nth, within, keep`},
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
		f, err := Parse("request.drop", "", map[string]string{"op": op.String()})
		must(t, err)
		if got := f.(named).injector.(requestDrop).op; got != op {
			t.Errorf("%s: got %s", op, got)
		}
	}
}
