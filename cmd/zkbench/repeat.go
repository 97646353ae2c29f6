package main

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/scenarios"
)

// defaultTick is ZooKeeper's own.
const defaultTick = 2 * time.Second

// command returns the command that repeats the run in dir. Changes of the scenario are in its file;
// the kind of ensemble and of agents is not. The ensemble is empty if none was started.
func (f *runFlags) command(dir string, s *scenarios.Scenario, r report.Run) string {
	args := []string{"zkbench", "run"}
	if f.replay != "" {
		args = append(args, "--replay", absolute(f.replay))
		for _, set := range f.scenario.set { // its changes of the scenario are not in the file
			args = append(args, "--set", set)
		}
	} else {
		args = append(args, filepath.Join(dir, report.ScenarioFile), "--seed", strconv.FormatUint(r.Seed, 10))
	}
	args = append(append(args, f.place(s, r.Ensemble)...), f.agents.words()...)
	for i, a := range args {
		args[i] = quote(a)
	}
	return strings.Join(args, " ")
}

// place returns the flags for the ensemble and agents of the run.
func (f *runFlags) place(s *scenarios.Scenario, e report.Ensemble) []string {
	o := f.ensemble
	kind := ensembles.Kind(cmp.Or(e.Kind, f.kind))
	args := []string{"--ensemble", string(kind)}
	if kind == ensembles.External {
		if isFile(f.kind) {
			args = []string{"--ensemble", absolute(f.kind)}
		} else {
			args = append(args, "--servers", strings.Join(o.Servers, ","))
		}
		if f.watches {
			args = append(args, "--wchp")
		}
		if o.Chroot != "" {
			args = append(args, "--chroot", o.Chroot)
		}
		return args
	}
	args = append(args, "--members", strconv.Itoa(cmp.Or(e.Members, o.Members)))
	if n := len(e.Observers); n > 0 || e.Kind == "" && o.Observers > 0 {
		args = append(args, "--observers", strconv.Itoa(cmp.Or(n, o.Observers)))
	}
	if _, varied := s.Matrix["tick"]; s.Tick == 0 && !varied && e.Tick != 0 && e.Tick != defaultTick {
		args = append(args, "--tick", e.Tick.String())
	}
	if len(o.Secure) > 0 {
		args = append(args, "--secure", strings.Join(o.Secure, ","))
	}
	for _, v := range versionFlags {
		if f.scenario.flags.Changed(v.flag) {
			args = append(args, "--"+v.flag, strings.Join(f.scenario.list(v.flag), ","))
		}
	}
	return args
}

// quote quotes an argument for a shell.
func quote(arg string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:,=@%+", r)
	}
	if arg != "" && strings.TrimFunc(arg, plain) == "" {
		return arg
	}
	return "'" + strings.ReplaceAll(arg, "'", `'\''`) + "'"
}
