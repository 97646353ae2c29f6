package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/draw"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/view"
)

func reportCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "report DIR",
		Short: "Render a run folder again (no ensemble needed)",
		Args:  oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, err := redraw(cmd, args[0])
			return err
		},
	}
}

func redraw(cmd *cobra.Command, dir string) (report.Result, error) {
	run, err := report.ReadRun(dir)
	if err != nil {
		return report.Result{}, runError(err)
	}
	c, err := report.Conclude(dir, run)
	if err != nil {
		return report.Result{}, runError(err)
	}
	v, err := draw.Folder(dir, c)
	if err != nil {
		return report.Result{}, err
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "rendered again: %s\n", dir)
	v.HideExplanations()
	return c.Result, show(cmd.OutOrStdout(), v)
}

func checkCmd() *cobra.Command {
	var asJSON bool
	var trial string
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Re-evaluate a run folder without writing to it (no ensemble needed)",
		Args:  oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := report.Judge(args[0])
			if err != nil {
				return runError(err)
			}
			r := &c.Result
			if trial != "" {
				if r.Trials = slices.DeleteFunc(r.Trials, func(t report.Trial) bool { return t.Name != trial }); len(r.Trials) == 0 {
					return usageError("--trial %s: no such trial in %s", trial, args[0])
				}
			}
			_, noPage := os.Stat(filepath.Join(args[0], report.PageFile))
			v := view.New(view.Input{Result: *r, Dir: args[0], NoPage: noPage != nil, Explanations: explain.Failures(c), ExplainExpected: trial != ""})
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

// runError returns an error about a run that cannot be read, with advice if it does not exist or another folder was named.
func runError(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: name the folder that run or audit has written, by default zkbench-out/SCENARIO-TIME", err)
	}
	return usage(err)
}

var oneFolder = argCount(1, 1, "%s wants one run folder, not %s")
