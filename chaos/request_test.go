package chaos

import (
	"reflect"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/chaos/wire"
)

// aimed returns the rule with the request that a fault's parameters say.
func aimed(t *testing.T, name string, params map[string]string) wire.Rule {
	t.Helper()
	k, err := find(name)
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
		{"an opcode without a name", "op", "op 42", `"op 42" is no kind of request`},
		{"an opcode with a slip", "op", "craete", `parameter op: "craete" is no kind of request; there is addWatch, any, auth, change, check`},
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
		if got := aimed(t, "request.drop", map[string]string{"op": op.String()}).Op; got != op {
			t.Errorf("%s: got %s", op, got)
		}
	}
}
