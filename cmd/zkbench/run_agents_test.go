package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/zkbench/zkbench/ensembles/state"
)

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
