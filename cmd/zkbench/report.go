package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/draw"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/timeline"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

func reportCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "report DIR",
		ValidArgsFunction: completeFolders,
		Short:             "Render a run folder again (no ensemble needed)",
		Args:              oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := redraw(cmd, args[0], cmd.OutOrStdout())
			return err
		},
	}
}

func redraw(cmd *cobra.Command, dir string, w io.Writer) (report.Result, error) {
	run, err := report.ReadRun(dir)
	if err != nil {
		return report.Result{}, usage(err)
	}
	c, err := report.Conclude(dir, run)
	if err != nil {
		return report.Result{}, usage(err)
	}
	v, err := draw.Folder(dir, c)
	if err != nil {
		return report.Result{}, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "drawn again: %s\n", dir)
	v.OneScreen()
	return c.Result, show(w, v)
}

func checkCmd() *cobra.Command {
	var asJSON bool
	var trial string
	cmd := &cobra.Command{
		Use:               "check DIR",
		ValidArgsFunction: completeFolders,
		Short:             "Re-evaluate a run folder without writing to it (no ensemble needed)",
		Args:              oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := report.Judge(args[0])
			if err != nil {
				return usage(err)
			}
			r := &c.Result
			if trial != "" {
				if r.Trials = slices.DeleteFunc(r.Trials, func(t report.Trial) bool { return t.Name != trial }); len(r.Trials) == 0 {
					return usageError("--trial %s: no such trial in %s", trial, args[0])
				}
			}
			_, noPage := os.Stat(filepath.Join(args[0], report.PageFile))
			v := view.Of(view.Input{Result: *r, Dir: args[0], Undrawn: noPage != nil, Stories: explain.Failures(c), OnPurpose: trial != ""})
			shown := show
			if asJSON {
				shown = func(w io.Writer, _ *view.View) error { return printJSON(w, *r) }
			}
			return errors.Join(shown(cmd.OutOrStdout(), v), verdictError(v.Result))
		},
	}
	cmd.Flags().StringVar(&trial, "trial", "", "render only this trial; if it fails on purpose (a zoo specimen), explain how it was detected")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the result as JSON")
	return cmd
}

func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError("%s wants one run folder, not %s", cmd.CommandPath(), units.Plural(len(args), "argument"))
	}
	return nil
}

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
