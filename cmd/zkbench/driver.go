package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/auto"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver"
	"github.com/zkbench/zkbench/recipes/driver/check"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func driverCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "driver SUBJECT",
		Short: "Run a built-in subject as a driver: the subject protocol on stdin and stdout",
		Args:  argCount(1, 1, "%s wants one subject, not %s (zkbench list subjects)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := recipes.Find(args[0])
			if err != nil {
				return usageError("%v%s", err, units.Nearest(args[0], spec.SubjectNames()))
			}
			if err := clock.CheckSkew(); err != nil {
				return usage(err)
			}
			if s.Open == nil {
				return usageError("%s is already a driver, a separate program: %s", s.Name, s.About)
			}
			limitProcessors()
			return driver.Serve(cmd.Context(), s, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// limitProcessors leaves half of the processors to other processes: a hand-off alternates between a driver,
// zkbench and the members, and idle threads that search for work delay it. The environment variable
// GOMAXPROCS overrides this.
func limitProcessors() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
}

// sweepDrivers kills driver processes of crashed runs, and processes of this run that have left their
// process group. It returns a line for each killed process.
func sweepDrivers() (removed []string, err error) {
	kill := func(p state.Process, format string) {
		if killErr := p.Kill(); killErr != nil {
			err = errors.Join(err, killErr)
			return
		}
		removed = append(removed, fmt.Sprintf(format, p.PID))
	}
	for p, owner := range state.FindByVariable(host.Mark) {
		if o := state.ParseProcess(owner); o != (state.Process{}) && (!o.Alive() || o.PID == os.Getpid()) {
			kill(p, "leftover driver process %d")
		}
	}
	for _, p := range state.Descendants() { // daemons of drivers that have cleared their environment
		if !keepsRunning(p) {
			kill(p, "process %d, which a driver left running")
		}
	}
	return removed, err
}

// keepsRunning reports whether a descendant of this process must outlive it: a member of a persistent
// ensemble, or a process started by a command for an external ensemble.
func keepsRunning(p state.Process) bool {
	return external.Executed() || slices.ContainsFunc(p.Arguments(), func(a string) bool { return strings.HasPrefix(a, process.MarkPrefix) })
}

// probeDrivers starts and ends each driver once, in parallel, so that a driver that cannot start is
// reported before an ensemble is started. It kills every process that a driver leaves running.
func probeDrivers(configs []scenarios.Config) error {
	var commands []host.Command
	for _, c := range configs {
		for _, command := range c.Scenario.DriverCommands() {
			if !slices.ContainsFunc(commands, func(o host.Command) bool { return reflect.DeepEqual(o, command) }) {
				commands = append(commands, command)
			}
		}
	}
	errs := make([]error, len(commands))
	var all sync.WaitGroup
	for i, c := range commands {
		all.Go(func() { errs[i] = host.Probe(c, state.Self().String()) })
	}
	all.Wait()
	for p, owner := range state.FindByVariable(host.Mark) {
		if owner == state.Self().String() {
			errs = append(errs, p.Kill())
		}
	}
	return errors.Join(errs...)
}

func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil && path != "" {
		return whole
	}
	return path
}

func subjectCmd() *cobra.Command {
	return group("subject", "Validate a driver: a program that runs a recipe which is not built in", "",
		subjectCheckCmd())
}

func subjectCheckCmd() *cobra.Command {
	var f runFlags
	var verbose bool
	cmd := &cobra.Command{
		Use:     "check -- PROGRAM ARGS",
		Short:   "Validate a driver against the protocol on a real ensemble",
		Example: "  zkbench subject check -- python3 driver.py",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError("no driver given; put its command after --, for example: zkbench subject check -- python3 driver.py")
			}
			if _, err := exec.LookPath(args[0]); err != nil {
				return usageError("cannot check the driver: %v", err)
			}
			o, err := f.options()
			if err != nil {
				return err
			}
			if verbose {
				o.Logf = logTo(cmd.ErrOrStderr())
			}
			if err := auto.Enter(cmd.Context(), o, os.Args); err != nil {
				return err
			}
			return checkSubject(cmd, args, o)
		},
	}
	fl := cmd.Flags()
	f.scenario.flags = fl
	f.registerEnsemble(fl, 500*time.Millisecond)
	fl.IntVar(&f.ensemble.Members, "members", 1, "number of members")
	fl.BoolVarP(&verbose, "verbose", "v", false, "log the actions of the ensemble")
	return cmd
}

func checkSubject(cmd *cobra.Command, args []string, o ensembles.Options) error {
	if err := host.Probe(host.Command{Name: args[0], Args: args}, state.Self().String()); errors.Is(err, host.ErrExited) {
		return usage(err)
	}
	dir, err := os.MkdirTemp("", "zkbench-driver-")
	if err != nil {
		return err
	}
	out := &sanitizingWriter{Writer: cmd.OutOrStdout()}
	stderr, counts := filepath.Join(dir, "stderr"), map[string]int{}
	err = scenarios.CheckDriver(cmd.Context(), args, o, stderr, func(s check.Step) {
		counts[s.Result]++
		showStep(out, s)
	})
	printed, _ := os.Stat(stderr)
	if counts[check.Wrong] > 0 && printed != nil && printed.Size() > 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "the driver's output is in %s\n", stderr)
	} else {
		err = errors.Join(err, os.RemoveAll(dir))
	}
	switch {
	case counts[check.Wrong] > 0:
		return errors.Join(exitError{fmt.Errorf("the driver violates %s of the protocol (zkbench help drivers)", units.Plural(counts[check.Wrong], "rule")), exitBroken}, err)
	case err != nil || counts[check.Unknown] > 0:
		return errors.Join(fmt.Errorf("some rules could not be checked"), err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "the driver keeps %s; not offered: %d\n", units.Plural(counts[check.OK], "rule"), counts[check.NotOffered])
	return nil
}

func showStep(w io.Writer, s check.Step) {
	fmt.Fprintf(w, "%-12s %s", s.Result, s.Name)
	if s.Why != "" && s.Result != check.Wrong {
		fmt.Fprintf(w, ": %s", s.Why)
	}
	fmt.Fprintln(w)
	if s.Result != check.Wrong {
		return
	}
	fmt.Fprintf(w, "    rule: %s\n    but:  %s\n", s.Rule, s.Why)
	for _, line := range s.Exchange {
		fmt.Fprintf(w, "      %s\n", line)
	}
}
