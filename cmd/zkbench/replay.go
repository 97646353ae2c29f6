package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/report"
)

// replayed returns the arguments to run: with --replay the scenario of that run folder, on an
// ensemble like the run's, unless flags differ.
func (f *runFlags) replayed(cmd *cobra.Command, args []string) ([]string, error) {
	if f.replay == "" {
		return args, nil
	}
	if len(args) > 0 {
		return nil, usageError("--replay names the scenario: leave %s out", args[0])
	}
	if cmd.Flags().Changed("seed") {
		return nil, usageError("--replay uses the recorded plan; --seed would have no effect")
	}
	if f.out != "" && same(f.out, f.replay) {
		return nil, usageError("--out %s is the folder that is to be replayed: name another", f.out)
	}
	old, err := report.ReadResult(f.replay)
	if err == nil && old.Run.Ensemble.Members > 0 { // a run that crashed has no result, and uses only the flags
		f.like(old.Run.Ensemble)
	}
	return []string{filepath.Join(f.replay, report.ScenarioFile)}, nil
}

// like sets options to an ensemble like e, except options that flags set.
func (f *runFlags) like(e report.Ensemble) {
	given := func(flag string) bool { return f.scenario.flags.Changed(flag) }
	if !given("members") && e.Members > 0 {
		f.ensemble.Members = e.Members
	}
	if !given("observers") && e.Kind != string(ensembles.External) {
		f.ensemble.Observers = len(e.Observers)
	}
	if !given("tick") && e.Tick > 0 {
		f.ensemble.Tick = e.Tick
	}
	if !given("ensemble") && !given("servers") && e.Kind != "" && e.Kind != "external" {
		f.kind = e.Kind
	}
}

func same(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}
