//go:build linux

package process

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/state"
)

func TestLastLines(t *testing.T) {
	for _, test := range []struct {
		name, log, want string
	}{
		{"a short log is shown whole", "one\ntwo\n", "\nthe last lines of zk1's log:\n  one\n  two"},
		{"of a long log the end", strings.Repeat("old\n", 50) + strings.Repeat("new\n", shown), "\nthe last lines of zk1's log:" + strings.Repeat("\n  new", shown)},
		{"frames of a stack trace hide nothing", "why\n\tat a.b(C.java:1)\n\t... 2 more\n", "\nthe last lines of zk1's log:\n  why"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r, m := &state.Record{Dir: t.TempDir()}, state.Member{Name: "zk1"}
			ok(t, os.MkdirAll(memberDir(r, m), 0o755))
			ok(t, os.WriteFile(filepath.Join(memberDir(r, m), logFile), []byte(test.log), 0o644))
			if got := lastLines(r, m); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
	if got := lastLines(&state.Record{Dir: t.TempDir()}, state.Member{Name: "zk1"}); !strings.Contains(got, "has no log") {
		t.Errorf("got %q", got)
	}
}
