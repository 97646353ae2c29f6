package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/chaos"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/recipes/driver/templates"
	_ "github.com/zkbench/zkbench/recipes/zoo"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func listCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "list [scenarios [NAME] | incidents | subjects | faults | guarantees | schema]",
		Short: "List scenarios, incidents, subjects, faults or guarantees; print a scenario or the JSON schema",
		Args:  argCount(0, 2, "%s takes a kind and at most one name, got %s"),
		RunE:  func(cmd *cobra.Command, args []string) error { return list(cmd.OutOrStdout(), args) },
	}
}

// listings are the arguments of list. Without an argument, list prints all except the schema.
var listings = map[string]func(io.Writer) error{
	"scenarios": listScenarios, "incidents": listIncidents, "subjects": listSubjects, "faults": listFaults,
	"guarantees": listGuarantees, "schema": func(w io.Writer) error { _, err := w.Write(spec.Schema); return err },
}

func list(w io.Writer, args []string) error {
	all := []string{"scenarios", "incidents", "subjects", "faults", "guarantees"}
	if len(args) == 0 {
		for _, what := range all {
			fmt.Fprintf(w, "%s\n", what)
			if err := listings[what](w); err != nil {
				return err
			}
			fmt.Fprintln(w)
		}
		return nil
	}
	listing := listings[args[0]]
	switch {
	case len(args) == 2 && args[0] != "scenarios":
		return usageError("list %s takes no name", args[0])
	case len(args) == 2:
		_, text, err := spec.Source(args[1])
		if err != nil {
			return usage(err)
		}
		_, err = w.Write(text)
		return err
	case listing == nil:
		return usageError("cannot list %q%s", args[0], units.Nearest(args[0], append(all, "schema")))
	}
	return listing(w)
}

func listScenarios(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, name := range spec.Builtin() {
		s, err := builtIn(name)
		if err != nil {
			return err
		}
		fmt.Fprintf(tw, "  %s\t%s\n", s.Name, s.About)
	}
	return tw.Flush()
}

func listSubjects(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	for _, s := range recipes.Subjects() {
		fmt.Fprintf(tw, "  %s\t%s\n", s.Name, s.About)
		if s.Missing == nil {
			continue
		}
		if err := s.Missing(); err != nil {
			fmt.Fprintf(tw, "\there: no: %s\n", oneLine(err.Error()))
		}
	}
	return tw.Flush()
}

func listFaults(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	able := chaos.Probe(context.Background())
	for _, f := range chaos.Catalogue() {
		here := "yes"
		if err := f.CheckMachine(able); err != nil {
			here = "no: " + oneLine(err.Error())
		}
		fmt.Fprintf(tw, "  %s\t%s\n\tneeds: %s\n\there: %s\n\tproof: %s\n", f.Name, f.About, f.Needs(), here, f.Proof)
		if hits := f.TargetsText(); hits != "" {
			fmt.Fprintf(tw, "\ttarget: %s\n", hits)
		}
		for _, p := range f.Params {
			fmt.Fprintf(tw, "\tparam %s (%s): %s\n", p.Name, cmp.Or(p.Default, "none"), p.About)
		}
	}
	return tw.Flush()
}

func listGuarantees(w io.Writer) error {
	for _, g := range verdict.All() {
		fmt.Fprintf(w, "  %s (%s)\n", g.Name, strings.Join(g.Concerns, ", "))
		fmt.Fprintf(w, "    promise:   %s\n    if broken: %s\n", g.Promise, g.Harm)
	}
	return nil
}

var lists = map[string]func() string{
	"{{guarantees}}\n": func() string {
		return entries(verdict.All(), func(g verdict.Guarantee) (string, string) { return g.Name, g.Help })
	},
	"{{stepfaults}}\n": func() string {
		return entries(spec.StepFaults, func(f *spec.StepFault) (string, string) { return f.Name, f.About })
	},
	"{{wholeline}}\n": func() string { return entries(spec.Scripts(), pair) },
	"{{zoo}}\n":       func() string { return entries(spec.KnownBugs(), pair) },
	"{{metrics}}\n":   metricsHelp,
	"{{phases}}\n":    spec.KindsHelp,
	"{{python}}\n":    func() string { return indented(templates.Python) },
	"{{java}}\n":      func() string { return indented(templates.Java) },
}

func pair(e [2]string) (string, string) { return e[0], e[1] }

func expandLists(page string) string {
	for mark, list := range lists {
		if strings.Contains(page, mark) { // only if needed: a list may read a scenario
			page = strings.ReplaceAll(page, mark, list())
		}
	}
	return page
}

func metricsHelp() string {
	var b strings.Builder
	for i, f := range metrics.Families() {
		if f.About != "" && i > 0 {
			b.WriteString("\n")
		}
		if f.About != "" {
			b.WriteString(f.About + "\n\n")
		}
		for _, d := range f.Definitions {
			name := d.Name
			if d.PerPhase {
				name += "[.PHASE]"
			}
			b.WriteString(entry(name, fmt.Sprintf("%s (%s)", d.Help, d.Unit)))
		}
	}
	return b.String()
}

func indented(program string) string {
	return strings.ReplaceAll("  "+strings.TrimRight(strings.ReplaceAll(program, "\n", "\n  "), " "), "\n  \n", "\n\n")
}

func entries[T any](all []T, of func(T) (name, about string)) string {
	return strings.Join(units.Names(all, func(x T) string { return entry(of(x)) }), "")
}

func entry(name, about string) string {
	const column, width = 26, 96
	indent := strings.Repeat(" ", column)
	line := units.Wrap(fmt.Sprintf("  %-*s%s", column-2, name, strings.Join(strings.Fields(about), " ")), indent, width)
	if len(name) > column-4 {
		line = "  " + name + "\n" + units.Wrap(indent+strings.Join(strings.Fields(about), " "), indent, width)
	}
	return line + "\n"
}

func versionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of zkbench, its dependencies, and the file formats that it reads",
		Args:  noArgs,
		Run: func(cmd *cobra.Command, _ []string) {
			info, settings := buildInfo()
			revision := "unknown: built without version control information (build in a clone with -buildvcs)"
			if r := settings["vcs.revision"]; r != "" {
				revision = r + " of " + settings["vcs.time"]
				if settings["vcs.modified"] == "true" {
					revision += ", with uncommitted changes"
				}
			}
			w := cmd.OutOrStdout()
			fmt.Fprintf(w, "zkbench    %s\nrevision   %s\n", info.Main.Version, revision)
			fmt.Fprintf(w, "go         %s for %s/%s, CGO_ENABLED=%s\n", info.GoVersion, settings["GOOS"], settings["GOARCH"], settings["CGO_ENABLED"])
			fmt.Fprintf(w, "client     %s\nformats    %s, %s\n", versions()["client"], report.Schema, history.Schema)
		},
	}
}

// versions returns the versions of the parts of zkbench that affect measurements, by name.
func versions() map[string]string {
	info, settings := buildInfo()
	out := map[string]string{"zkbench": cmp.Or(settings["vcs.revision"], info.Main.Version, "unknown"), "go": info.GoVersion, "client": "unknown"}
	for _, dep := range info.Deps {
		if dep.Path == "github.com/go-zookeeper/zk" {
			out["client"] = dep.Path + " " + dep.Version
		}
	}
	return out
}

func buildInfo() (*debug.BuildInfo, map[string]string) {
	info, ok := debug.ReadBuildInfo()
	if !ok { // built without modules
		info = &debug.BuildInfo{GoVersion: runtime.Version()}
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	return info, settings
}

func listIncidents(w io.Writer) error {
	for _, name := range spec.Incidents() {
		s, err := builtIn(name)
		if err != nil {
			return err
		}
		i := s.Incident
		lines := []string{s.About, "thread: " + i.Thread, "why: " + i.Cause}
		for _, x := range s.Specimens {
			expected := "keeps every guarantee"
			if len(x.Caught) > 0 {
				expected = "breaks " + units.List(x.Caught)
			}
			lines = append(lines, fmt.Sprintf("%s, cell %s: %s", x.Subject, x.Script, expected))
		}
		optional := [][2]string{{"introduced in", i.Introduced}, {"fixed in", i.Fixed}, {"does not show", i.Tried}}
		for _, x := range optional {
			if x[1] != "" {
				lines = append(lines, x[0]+": "+x[1])
			}
		}
		fmt.Fprintln(w, units.Wrap(fmt.Sprintf("  %s (%s)", name, i.Version), "    ", 80))
		for _, line := range lines {
			fmt.Fprintln(w, units.Wrap("    "+line, "    ", 80))
		}
	}
	return nil
}

func builtIn(name string) (*spec.Scenario, error) {
	name, text, err := spec.Source(name)
	if err != nil {
		return nil, err
	}
	return spec.Load(name, text)
}

// incidentError returns nil if the incident had the expected result, otherwise an error with the exit code.
func incidentError(w io.Writer, s *spec.Scenario, result string) error {
	i, broken := s.Incident, strings.Join(s.ExpectedViolations(), ", ")
	switch {
	case result == report.Unknown:
		return exitError{fmt.Errorf("%s: cannot determine whether the incident was reproduced", s.Name), exitUnknown}
	case result == report.Pass && broken != "":
		_, err := fmt.Fprintf(w, "%s was reproduced: the run broke %s, as described in %s\n", s.Name, broken, i.Thread)
		return err
	case result == report.Pass:
		_, err := fmt.Fprintf(w, "%s was not reproduced, as expected: %s\n", s.Name, i.Tried)
		return err
	case broken != "":
		return exitError{fmt.Errorf("%s was NOT reproduced: %s passed in this run, but failed with %s", s.Name, broken, i.Version), exitBroken}
	}
	return exitError{fmt.Errorf("%s was reproduced unexpectedly: a guarantee was broken in this run, but was kept with %s", s.Name, i.Version), exitBroken}
}
