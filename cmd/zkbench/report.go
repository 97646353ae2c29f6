package main

import (
	"errors"
	"fmt"
	"io"
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
		Short: "Draw a run folder again, from its histories (needs no ensemble)",
		Args:  oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := report.ReadRun(args[0])
			if err != nil {
				return usage(err)
			}
			c, err := report.Conclude(args[0], run)
			if err != nil {
				return usage(err)
			}
			v, err := draw.Folder(args[0], c)
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "drawn again: %s\n", args[0])
			v.Shown, v.More = 0, nil // the page that it has drawn explains what was broken
			return show(cmd.OutOrStdout(), v)
		},
	}
}

func checkCmd() *cobra.Command {
	var asJSON bool
	var trial string
	cmd := &cobra.Command{
		Use:   "check DIR",
		Short: "Judge a run folder's histories again; writes nothing (needs no ensemble)",
		Args:  oneFolder,
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
			v := view.Of(view.Input{Result: *r, Dir: args[0], Stories: explain.Failures(c), OnPurpose: trial != ""})
			shown := show
			if asJSON {
				shown = func(w io.Writer, _ *view.View) error { return printJSON(w, *r) }
			}
			return errors.Join(shown(cmd.OutOrStdout(), v), verdictError(v.Result))
		},
	}
	cmd.Flags().StringVar(&trial, "trial", "", "only this trial; of one that is broken on purpose, explain how it was caught")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as result.json")
	return cmd
}

func oneFolder(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usageError("%s wants one run folder, not %d arguments", cmd.CommandPath(), len(args))
	}
	return nil
}
