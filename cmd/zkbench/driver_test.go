package main

import (
	"bytes"
	"fmt"
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
			configs, err := f.configs([]string{"churn"}, t.Logf)
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
	if err := f.replaceMissingDirs(cmd, "."); err != nil {
		t.Fatal(err)
	}
	configs, err := f.configs([]string{filepath.Join(here, report.ScenarioFile)}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range configs[0].Scenario.Drivers {
		if d.Cwd != here {
			t.Errorf("%s is started in %s, want %s", d.Name, d.Cwd, here)
		}
	}
	if said := stderr.String(); strings.Count(said, "does not exist on this machine") != 2 || !strings.Contains(said, "lock/b: the working directory /not/there") {
		t.Errorf("it says:\n%s", said)
	}
}

// A packed run, and a scenario of another user, name programs that this user has not chosen.
func TestConfigs_refusesProgramsThatTheUserDidNotChoose(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = `{name: x, subjects: [lock/a], clients: [2], session_timeout: 4s,
		drivers: [{name: lock/a, exec: sh a.sh, cwd: /, env: {KEY: value}}], phases: [{name: churn, kind: churn, duration: 1s, hold: 0s}]}`
	if err := os.WriteFile("x.yaml", []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	foreign := filepath.Join(t.TempDir(), "foreign.yaml")
	if err := os.WriteFile(foreign, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	rows := []struct {
		name, file string
		packed     bool
		flags      []string
		refused    bool
	}{
		{"the user's own file", "x.yaml", false, nil, false},
		{"a packed run", "x.yaml", true, nil, true},
		{"a packed run, allowed", "x.yaml", true, []string{"--allow-exec"}, false},
		{"a packed run whose program the call names", "x.yaml", true, []string{"--exec", "lock/a=sh b.sh"}, false},
	}
	if os.Chown(foreign, 65534, 65534) == nil { // as root
		rows = append(rows, struct {
			name, file string
			packed     bool
			flags      []string
			refused    bool
		}{"another user's file", foreign, false, nil, true})
	}
	for _, row := range rows {
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
