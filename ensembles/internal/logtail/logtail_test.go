package logtail

import (
	"strings"
	"testing"
)

func TestLines_showsWhy(t *testing.T) {
	for name, test := range map[string]struct{ log, want string }{
		"a short log is shown whole":           {"one\ntwo\n", "\n    | one\n    | two"},
		"of a long log the end":                {strings.Repeat("old\n", 50) + strings.Repeat("new\n", maxLines), strings.Repeat("\n    | new", maxLines)},
		"frames of a stack trace are left out": {"why\n\tat a.b(C.java:1)\n\t... 2 more\n", "\n    | why"},
		"our own questions are left out":       {"why\nProcessing srvr command from /127.0.0.1\n", "\n    | why"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Lines([]byte(test.log)); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
