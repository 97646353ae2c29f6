package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
)

// What a shell offers behind a verb or a flag. Cobra's own verb completion prints the
// shell's side of it.

// completeScenarios offers the built-in scenarios, and files.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Builtin(), cobra.ShellCompDirectiveDefault
}

// completeSubjects offers the subjects that are compiled in.
func completeSubjects(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, s := range recipes.Subjects() {
		names = append(names, s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFolders offers folders: those of runs.
func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeListings offers what can be listed, and behind scenarios their names.
func completeListings(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	var names []string
	switch {
	case len(args) == 0:
		for name := range listings {
			names = append(names, name)
		}
		slices.Sort(names)
	case len(args) == 1 && args[0] == "scenarios":
		names = scenarios.Builtin()
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

// completeFlags says what the flags of a run take. A flag that is not there is a mistake in
// the program.
func completeFlags(cmd *cobra.Command) {
	for flag, complete := range map[string]cobra.CompletionFunc{
		"ensemble": cobra.FixedCompletions([]string{"auto", "container", "process", "external"}, cobra.ShellCompDirectiveNoFileComp),
		"subject":  completeSubjects,
		"ab":       completeSubjects,
		"replay":   completeFolders,
		"out":      completeFolders,
	} {
		if err := cmd.RegisterFlagCompletionFunc(flag, complete); err != nil {
			panic(err)
		}
	}
}
