package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/scenarios/agents"
)

// Agents that did not carry anything are no success.
func TestAgents_thatDoNotStart(t *testing.T) {
	coordinator, err := agents.Listen("127.0.0.1:0", ownVersion(), t.Logf)
	must(t, err)
	defer func() { must(t, coordinator.Close()) }()
	join := filepath.Join(t.TempDir(), "join.pem")
	must(t, os.WriteFile(join, coordinator.Join("192.0.2.1").Encode(), 0o600))
	t.Setenv("PATH", t.TempDir())
	said := call(t, exitUnknown, "agents", "kubernetes", "--replicas", "2", "--join", join)
	contains(t, said, "kubectl is not in PATH: install it")
}

// A run that was killed leaves the folder of its agents, with what lets them in; a sweep takes
// it away, and leaves those of runs that live.
func TestSweepAgents_removesFoldersOfTheDead(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	ours, err := agentsFolder()
	must(t, err)
	theirs, err := agentsFolder()
	must(t, err)
	// The number of the owner is above the highest that Linux gives.
	must(t, os.WriteFile(filepath.Join(theirs, ownerFile), []byte("4194304:1"), 0o600))
	if removed, err := sweepAgents(); err != nil || len(removed) != 1 {
		t.Errorf("removed %v (%v)", removed, err)
	}
	if _, err := os.Stat(ours); err != nil {
		t.Errorf("the folder of a run that lives: %v", err)
	}
	if _, err := os.Stat(theirs); !os.IsNotExist(err) {
		t.Errorf("the folder of a run that is dead: %v", err)
	}
}
