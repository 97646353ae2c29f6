package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/ensembles/process"
	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver"
	"github.com/zkbench/zkbench/recipes/driver/clock"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report/units"
)

func driverCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "driver SUBJECT",
		Short: "Run a built-in subject as a driver: the subject protocol on stdin and stdout",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usageError("%s wants one subject, not %s (zkbench list subjects)", cmd.CommandPath(), units.Plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := recipes.Find(args[0])
			if err != nil {
				names, _ := completeSubjects(cmd, nil, "")
				return usageError("%v%s", err, units.Nearest(args[0], names))
			}
			if err = errors.Join(err, clock.CheckSkew()); err != nil {
				return usage(err)
			}
			if s.Open == nil {
				return usageError("%s is a driver already, a program of its own: %s", s.Name, s.About)
			}
			leaveRoom()
			return driver.Serve(cmd.Context(), s, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}

// leaveRoom leaves half of the processors to other processes: a hand-off alternates between a
// driver, zkbench and the members, and idle threads that look for work delay it. GOMAXPROCS
// overrides it.
func leaveRoom() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/2))
	}
}

// sweepDrivers kills driver processes of crashed runs, and processes of this run that have left
// their group. It returns a line for each.
func sweepDrivers() (removed []string, err error) {
	for p, owner := range state.Marked(host.Mark) {
		if o := state.ParseProcess(owner); o == (state.Process{}) || o.Alive() && o.PID != os.Getpid() {
			continue
		}
		if killErr := p.Signal(syscall.SIGKILL); killErr != nil {
			err = errors.Join(err, killErr)
			continue
		}
		removed = append(removed, fmt.Sprintf("driver process %d, which no other process would end", p.PID))
	}
	for _, p := range state.Descendants() { // a daemon of a driver that has cleared its environment
		if keepsRunning(p) {
			continue
		}
		if killErr := p.Signal(syscall.SIGKILL); killErr != nil {
			err = errors.Join(err, killErr)
			continue
		}
		removed = append(removed, fmt.Sprintf("process %d, which a driver left running", p.PID))
	}
	return removed, err
}

// keepsRunning reports whether a process below this one is meant to outlive it: a member of a
// persistent ensemble, or a process started by a command for an external ensemble.
func keepsRunning(p state.Process) bool {
	return external.Executed() || slices.ContainsFunc(p.Arguments(), func(a string) bool { return strings.HasPrefix(a, process.MarkPrefix) })
}
