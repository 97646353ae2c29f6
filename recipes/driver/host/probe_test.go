package host

import (
	"errors"
	"strings"
	"testing"
)

func TestProbe_saysWhyAProgramDoesNotStart(t *testing.T) {
	for _, row := range []struct {
		name, script string
		exited       bool
		want         string
	}{
		{"it ends at once", "echo out of cheese >&2; exit 3", true, "(exit status 3); it printed on stderr:\n  out of cheese"},
		{"it says nothing", "exit 1", true, "(exit status 1)"},
		{"it prints something else", "echo hello", false, "each line is one JSON object: hello"},
		{"it answers another protocol", `read line; echo '{"id":1,"ok":{"protocol":7}}'; cat >/dev/null`, false, "the protocol's number, 1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := Probe(Command{Name: "lock/x", Args: []string{"sh", "-c", row.script}}, "none")
			if err == nil || errors.Is(err, ErrExited) != row.exited || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
		})
	}
}
