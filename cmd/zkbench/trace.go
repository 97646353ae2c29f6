package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/timeline"
	"github.com/zkbench/zkbench/report/units"
)

func traceCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "trace DIR TRIAL",
		Short: "Export a trial for Perfetto",
		Example: `  zkbench trace zkbench-out/herd herd-lock-parent-10 > trace.json
  ls zkbench-out/herd/history                          # the trials of a run`,
		ValidArgsFunction: completeTrials,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 2 {
				return usageError("%s wants a run folder and a trial, not %s", cmd.CommandPath(), units.Plural(len(args), "argument"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, trial := args[0], args[1]
			path := report.HistoryPath(dir, trial)
			if _, err := os.Stat(path); err != nil {
				names, err := report.TrialNames(dir)
				if err != nil {
					return usage(err)
				}
				return usageError("%s has no trial %s%s", dir, trial, units.Nearest(trial, names))
			}
			h, err := history.Open(path)
			if err != nil {
				return usage(err)
			}
			return timeline.Write(cmd.OutOrStdout(), h)
		},
	}
}

// completeTrials offers folders, and after one its trials.
func completeTrials(_ *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return nil, cobra.ShellCompDirectiveFilterDirs
	}
	names, err := report.TrialNames(args[0])
	if err != nil || len(args) > 1 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var fitting []string
	for _, name := range names {
		if strings.HasPrefix(name, begun) {
			fitting = append(fitting, name)
		}
	}
	return fitting, cobra.ShellCompDirectiveNoFileComp
}
