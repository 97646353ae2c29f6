package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/agents"
)

// joinFile is of a coordinator that no agent reaches.
func joinFile(t *testing.T) string {
	t.Helper()
	f, err := agents.Listen("127.0.0.1:0", ownVersion(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	file := filepath.Join(t.TempDir(), "join.pem")
	if err := os.WriteFile(file, f.Join("192.0.2.1").Encode(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Agents that did not carry anything are no success.
func TestAgents_whoDoNotStart(t *testing.T) {
	fails, err := exec.LookPath("false")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("ZKBENCH_SSH", fails)
	t.Setenv("PATH", t.TempDir())
	join := joinFile(t)
	for _, c := range []struct{ call, want string }{
		{"agents ssh h1 h2 --join " + join, "2 of 2 agents did not end because the run was over"},
		{"agents kubernetes --replicas 2 --join " + join, "kubectl is not in PATH: install it"},
	} {
		var out, wrong bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.call), &out, &wrong); code != exitUnknown || !strings.Contains(wrong.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", c.call, code, wrong.String())
		}
	}
}
