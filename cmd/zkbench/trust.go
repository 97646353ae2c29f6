package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/scenarios"
)

// programs returns a line for each program that the scenario starts and that no flag of this call
// names: the command, additions to the environment, and the working directory.
func (f *runFlags) programs(s *scenarios.Scenario) (lines []string) {
	for _, d := range s.Drivers {
		if slices.ContainsFunc(f.scenario.exec, func(e string) bool { return strings.HasPrefix(e, d.Name+"=") }) {
			continue
		}
		line := fmt.Sprintf("%s: exec %s", d.Name, d.Exec)
		for _, key := range slices.Sorted(maps.Keys(d.Env)) {
			line += fmt.Sprintf(", env %s=%s", key, d.Env[key])
		}
		if d.Cwd != "" {
			line += ", cwd " + d.Cwd
		}
		lines = append(lines, line)
	}
	return lines
}

// checkPrograms rejects a scenario with programs that this user did not write: one of a packed run,
// or a file of another user. With --allow-exec it logs them.
func (f *runFlags) checkPrograms(s *scenarios.Scenario, file string, logf func(format string, args ...any)) error {
	lines := f.programs(s)
	if len(lines) == 0 || !f.packed && ownFile(file) {
		return nil
	}
	if f.allowExec {
		for _, line := range lines {
			logf("executes %s", line)
		}
		return nil
	}
	return usageError("%s names programs to execute; read them, and add --allow-exec to have them started:\n  %s", file, strings.Join(lines, "\n  "))
}
