package main

import (
	"slices"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/scenarios"
)

// Shell completion of arguments and flags; cobra's command completion prints the shell's part.

func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return scenarios.Builtin(), cobra.ShellCompDirectiveDefault
}

func completeSubjects(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, s := range recipes.Subjects() {
		names = append(names, s.Name)
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func completeFolders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// completeListings offers the kinds of listing, and after scenarios their names.
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

// completeFlags registers the completion of a run's flags. It panics if a flag does not exist.
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
