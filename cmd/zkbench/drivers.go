package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v4"

	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/safefile"
	"github.com/zkbench/zkbench/scenarios"
)

// The working directories of drivers, so that a run can be repeated from any folder.

// placeDrivers sets the working directory of drivers without one to the current folder. Drivers on
// agents start in the agent's folder.
func (f *runFlags) placeDrivers(s *scenarios.Scenario) error {
	if f.agents.engine != "" || len(s.Drivers) == 0 {
		return nil
	}
	here, err := os.Getwd()
	for i := range s.Drivers {
		if s.Drivers[i].Cwd == "" {
			s.Drivers[i].Cwd = here
		}
	}
	return err
}

// moveDrivers starts drivers of the run in dir here if their working directory is not on this
// machine.
func (f *runFlags) moveDrivers(cmd *cobra.Command, dir string) error {
	var s struct{ Drivers []scenarios.Driver }
	text, err := safefile.Read(filepath.Join(dir, report.ScenarioFile), safefile.Config)
	if err != nil || yaml.Load(text, &s) != nil {
		return err // problems of a scenario are reported where it is loaded
	}
	here, err := os.Getwd()
	if err != nil {
		return err
	}
	drivers := slices.DeleteFunc(s.Drivers, func(d scenarios.Driver) bool { // --exec appends its own
		return slices.ContainsFunc(f.scenario.exec, func(e string) bool { return strings.HasPrefix(e, d.Name+"=") })
	})
	for i, d := range drivers {
		if info, err := os.Stat(d.Cwd); d.Cwd == "" || err == nil && info.IsDir() {
			continue
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "%s: its folder %s is not on this machine: it is started in %s\n", d.Name, d.Cwd, here)
		f.scenario.set = append(f.scenario.set, fmt.Sprintf("drivers.%d.cwd=%s", i, strconv.Quote(here)))
	}
	return nil
}

// probeDrivers starts and ends each driver once, in parallel, so that a driver that cannot start is
// reported before an ensemble is started. It kills every process that a driver leaves running.
func probeDrivers(configs []scenarios.Config) error {
	var commands []host.Command
	for _, c := range configs {
		for _, command := range c.Scenario.DriverCommands() {
			same := func(o host.Command) bool {
				return o.Name == command.Name && slices.Equal(o.Args, command.Args) && o.Dir == command.Dir
			}
			if !slices.ContainsFunc(commands, same) {
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
	for p, owner := range state.Marked(host.Mark) {
		if owner == state.Self().String() {
			errs = append(errs, p.Signal(syscall.SIGKILL))
		}
	}
	return errors.Join(errs...)
}

// absolute returns an absolute path.
func absolute(path string) string {
	if whole, err := filepath.Abs(path); err == nil && path != "" {
		return whole
	}
	return path
}
