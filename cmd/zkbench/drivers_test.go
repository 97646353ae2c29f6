package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/report"
)

// A driver is started again where it was, whatever folder the run is played again from.
func TestConfigs_sayWhereDriversAreStarted(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		name  string
		flags []string
		want  string
	}{
		{"here", nil, here},
		{"where the scenario says", []string{"--set", "drivers.0.cwd=/"}, "/"},
		{"with agents, where each of them is", []string{"--agents", "local:2"}, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := parsed(t, append(row.flags, "--subject", "lock/mine", "--exec", "lock/mine=sh lock.sh")...)
			configs, err := f.configs([]string{"churn"})
			if err != nil {
				t.Fatal(err)
			}
			if got := configs[0].Scenario.Drivers[0].Cwd; got != row.want {
				t.Errorf("it is started in %q, want %q", got, row.want)
			}
		})
	}
}

// The folder of a driver on the machine that made a run may not be there on the one that plays
// it again.
func TestMoveDrivers_startsHereWhatWasElsewhere(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	const text = `{name: x, subjects: [lock/a, lock/b, lock/c], clients: [2], session_timeout: 4s,
		drivers: [{name: lock/a, exec: sh a, cwd: /}, {name: lock/b, exec: ./b, cwd: /not/there, env: {A: b}}, {name: lock/c, exec: sh c, cwd: /not/there}],
		phases: [{name: churn, kind: churn, duration: 1s, hold: 0s}]}`
	if err := os.WriteFile(report.ScenarioFile, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("b", []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd := &cobra.Command{}
	cmd.SetErr(&stderr)
	f := parsed(t, "--exec", "lock/a=sh a2")
	if err := f.moveDrivers(cmd, "."); err != nil {
		t.Fatal(err)
	}
	configs, err := f.configs([]string{filepath.Join(here, report.ScenarioFile)})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range configs[0].Scenario.Drivers {
		if d.Cwd != here {
			t.Errorf("%s is started in %s, want %s", d.Name, d.Cwd, here)
		}
	}
	if said := stderr.String(); strings.Count(said, "is not on this machine") != 2 || !strings.Contains(said, "lock/b: its folder /not/there") {
		t.Errorf("it says:\n%s", said)
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
