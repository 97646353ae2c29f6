package chaos

import (
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
)

func TestParse_Aim(t *testing.T) {
	f, err := Parse("reply.drop", "3", map[string]string{"op": "create", "path": "/lock/**", "nth": "2", "within": "1s", "keep": "true"})
	must(t, err)
	want := ReplyDrop{Aim: Aim{Client: "3", Op: wire.Create, Path: "/lock/**", Nth: 2, Within: time.Second}, Keep: true}
	if f != want {
		t.Errorf("got %+v", f)
	}
	for _, row := range []struct {
		name, param, value, want string
	}{
		{"an opcode with a slip", "op", "craete", `did you mean "create"?`},
		{"a match before the first", "nth", "0", "no whole number from 1"},
		{"a duration without a unit", "within", "5", "is no duration"},
		{"a broken pattern", "path", "/[", "is no pattern"},
		{"neither true nor false", "keep", "perhaps", "neither true nor false"},
		{"a parameter with a slip", "opp", "create", `did you mean "op"?`},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Parse("reply.drop", "", map[string]string{row.param: row.value})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestParseOp(t *testing.T) {
	for _, op := range []wire.Op{wire.Any, wire.Create, wire.GetChildren2, wire.CloseSession, wire.WhoAmI} {
		if got, ok := parseOp(op.String()); !ok || got != op {
			t.Errorf("%s: got %s, %v", op, got, ok)
		}
	}
	if _, ok := parseOp("op 42"); ok {
		t.Error("an opcode that nobody knows was accepted")
	}
}
