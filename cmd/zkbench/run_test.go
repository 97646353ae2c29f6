package main

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// A run that broke its threshold says so by its exit code, also where nothing can be drawn.
func TestConclude_aFailureCountsMoreThanADrawing(t *testing.T) {
	for threshold, want := range map[string]int{"throughput > 99999": exitBroken, "verdicts == pass": exitUnknown} {
		t.Run(threshold, func(t *testing.T) {
			dir := savedRun(t)
			replace(t, report.HistoryPath(dir, "herd-lock-predecessor-3"), "verdicts == pass", threshold)
			result, err := report.Conclude(dir, report.Run{ID: "run"})
			must(t, err)
			var out bytes.Buffer
			cmd := &cobra.Command{}
			cmd.SetOut(&out)
			cmd.SetErr(&out)
			err = errors.Join(errors.New("nothing can be drawn"), new(runFlags).conclude(cmd, dir, &spec.Scenario{}, result))
			if got := codeOf(err); got != want {
				t.Errorf("exit code %d, want %d: %v\n%s", got, want, err, &out)
			}
		})
	}
}

// parsed is what zkbench run makes of the flags.
func parsed(t *testing.T, args ...string) *runFlags {
	t.Helper()
	var f runFlags
	fl := pflag.NewFlagSet("run", pflag.ContinueOnError)
	f.register(fl)
	f.registerSettings(fl)
	f.scenario.registerMatrix(fl)
	must(t, fl.Parse(args))
	return &f
}

// The command in a report has what the run folder does not contain.
func TestCommand_repeatsTheRun(t *testing.T) {
	t.Chdir("/")
	for flags, want := range map[string]string{
		"--seed 7 --members 5":                               "zkbench run --replay /out",
		"--servers zk1:2181,zk2:2181 --chroot /mine":         "zkbench run --replay /out --servers zk1:2181,zk2:2181 --chroot /mine",
		"--ensemble zk.yaml --agents local:2 --agents-relay": "zkbench run --replay /out --ensemble /zk.yaml --agents local:2 --agents-relay",
	} {
		if got := parsed(t, strings.Fields(flags)...).command("out"); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// An ensemble of somebody else's has as many members as servers are named.
func TestOptions_membersOfOthers(t *testing.T) {
	for flags, want := range map[string]int{"": 3, "--members 5": 5, "--servers zk1:2181": 0, "--servers zk1:2181,zk2:2181 --members 2": 2} {
		if o, err := parsed(t, strings.Fields(flags)...).options(); err != nil || o.Members != want {
			t.Errorf("%q: %d members, %v; want %d", flags, o.Members, err, want)
		}
	}
}
