package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A packed run, and a scenario of another user, name programs that this user has not chosen.
func TestConfigs_refusesProgramsThatTheUserDidNotChoose(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = `{name: x, subjects: [lock/a], clients: [2], session_timeout: 4s,
		drivers: [{name: lock/a, exec: sh a.sh, cwd: /, env: {KEY: value}}], phases: [{name: churn, kind: churn, duration: 1s, hold: 0s}]}`
	foreign := filepath.Join(t.TempDir(), "foreign.yaml")
	must(t, os.WriteFile("x.yaml", []byte(text), 0o644))
	must(t, os.WriteFile(foreign, []byte(text), 0o644))
	isForeign := os.Chown(foreign, 65534, 65534) == nil // as root
	for _, row := range []struct {
		name, file string
		packed     bool
		flags      []string
		refused    bool
	}{
		{"the user's own file", "x.yaml", false, nil, false},
		{"a packed run", "x.yaml", true, nil, true},
		{"a packed run, allowed", "x.yaml", true, []string{"--allow-exec"}, false},
		{"a packed run whose program the call names", "x.yaml", true, []string{"--exec", "lock/a=sh b.sh"}, false},
		{"another user's file", foreign, false, nil, isForeign},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := parsed(t, row.flags...)
			f.untrusted = row.packed
			var logged []string
			_, err := f.configs([]string{row.file}, func(format string, args ...any) { logged = append(logged, fmt.Sprintf(format, args...)) })
			const program = "lock/a: exec sh a.sh, env KEY=value, cwd /"
			if refused := err != nil && strings.Contains(err.Error(), program) && strings.Contains(err.Error(), "--allow-exec"); refused != row.refused || !row.refused && err != nil {
				t.Errorf("%v", err)
			}
			if said := strings.Join(logged, " "); f.allowExec != strings.Contains(said, "executes "+program) {
				t.Errorf("it logs %q", said)
			}
		})
	}
}

func TestAbsolute(t *testing.T) {
	t.Chdir("/")
	for path, want := range map[string]string{"a/b": "/a/b", "/a": "/a", "": ""} {
		if got := absolute(path); got != want {
			t.Errorf("%q is %q, want %q", path, got, want)
		}
	}
}
