package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/ensembles/external"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

// isFile reports whether --ensemble names a file about an external ensemble.
func isFile(kind string) bool {
	return strings.HasSuffix(kind, ".yaml") || strings.HasSuffix(kind, ".yml")
}

// theirs returns the options for the ensemble in the file of --ensemble.
func (f *runFlags) theirs(o ensembles.Options) (ensembles.Options, error) {
	if len(o.Servers) > 0 || len(o.Secure) > 0 {
		return o, usageError("--ensemble %s describes the servers and their security; remove --servers and --secure", f.kind)
	}
	theirs, err := external.Load(f.kind)
	if err != nil {
		return o, usage(err)
	}
	if o.Chroot != "" {
		theirs.Chroot = o.Chroot
	}
	theirs.Tick, theirs.Terms.Watches = o.Tick, f.watches
	if f.scenario.flags.Changed("members") {
		theirs.Members = o.Members
	}
	return theirs, usage(external.Check(theirs))
}

// checkSecurity rejects options of other kinds of ensemble.
func checkSecurity(o ensembles.Options, watches bool) error {
	switch {
	case watches && o.Kind != ensembles.External:
		return usageError("--wchp is for external ensembles; zkbench always queries the watches of its own members")
	case o.Chroot != "" && o.Kind != ensembles.External:
		return usageError("--chroot is for external ensembles; zkbench uses the whole tree of its own ensembles")
	case len(o.Secure) > 0 && o.Kind == ensembles.External:
		return usageError("--secure requires --ensemble container or process; the security of an external ensemble is described in its file: --ensemble FILE.yaml (zkbench help ensembles)")
	}
	for _, word := range o.Secure {
		if !slices.Contains(ensembles.Secures, word) {
			return usageError("--secure %s: no such word%s", word, units.Nearest(word, ensembles.Secures))
		}
	}
	return nil
}

func dryRun(w io.Writer, configs []scenarios.Config) error {
	for _, c := range configs {
		commands := c.Commands()
		if len(commands) == 0 {
			fmt.Fprintf(w, "%s: no command would be executed\n", c.Scenario.Name)
			continue
		}
		fmt.Fprintf(w, "%s: these commands may be executed\n", c.Scenario.Name)
		for _, line := range commands {
			fmt.Fprintf(w, "  %s\n", line)
		}
	}
	return nil
}
