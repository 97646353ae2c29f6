package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/state"
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
	t.Setenv("PATH", t.TempDir())
	join := joinFile(t)
	for _, c := range []struct{ call, want string }{
		{"agents kubernetes --replicas 2 --join " + join, "kubectl is not in PATH: install it"},
	} {
		var out, wrong bytes.Buffer
		if code := run(t.Context(), strings.Fields(c.call), &out, &wrong); code != exitUnknown || !strings.Contains(wrong.String(), c.want) {
			t.Errorf("%s: exit code %d: %s", c.call, code, wrong.String())
		}
	}
}

// A run that was killed leaves the folder of its agents, with what lets them in; a sweep takes
// it away, and leaves those of runs that live.
func TestSweepAgents_removesFoldersOfTheDead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ours, err := agentsFolder()
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := agentsFolder()
	if err != nil {
		t.Fatal(err)
	}
	dead := exec.Command("true")
	if err := dead.Start(); err != nil {
		t.Fatal(err)
	}
	owner, err := state.Find(dead.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	if err := dead.Wait(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(theirs, ownerFile), []byte(owner.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	removed, err := sweepAgents()
	if err != nil || len(removed) != 1 {
		t.Errorf("removed %v (%v)", removed, err)
	}
	if _, err := os.Stat(ours); err != nil {
		t.Errorf("the folder of a run that lives: %v", err)
	}
	if _, err := os.Stat(theirs); !os.IsNotExist(err) {
		t.Errorf("the folder of a run that is dead: %v", err)
	}
}
