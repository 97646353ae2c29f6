package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A run's faults can be played again: the plan is the same, byte for byte. And a fault
// that does nothing, both times, makes the run one that could not be judged.
func TestRun_replayOfAFaultWithoutEffect(t *testing.T) {
	r := startHerd(t, "--seed", "7", "--set", "phases.1.duration=2s",
		"--set", "phases.1.faults=[{at: 200ms, jitter: 100ms, fault: request.drop, params: {path: /nobody/asks, within: 500ms}}]")
	if code := r.end(); code != "3" {
		t.Errorf("exit code %s, want 3; it said:\n%s", code, strings.Join(r.said, "\n"))
	}
	again := filepath.Join(t.TempDir(), "again")
	cmd := r.command("run", "--replay", r.out, "--out", again, "--json")
	said, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != exitUnknown {
		t.Errorf("exit code %d (%v), want %d; it said:\n%s", code, err, exitUnknown, said)
	}
	if !json.Valid(said) {
		t.Errorf("there is more than JSON on stdout:\n%s", said)
	}
	if !strings.Contains(string(said), "no proven effect") {
		t.Errorf("it does not say that the fault did nothing:\n%s", said)
	}
	const plan = "plan/herd-lock-predecessor-3.yaml"
	first, err := os.ReadFile(filepath.Join(r.out, plan))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(again, plan))
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) || !strings.Contains(string(first), "request.drop") {
		t.Errorf("the plans differ:\n%s\n%s", first, second)
	}
	r.gone()
}
