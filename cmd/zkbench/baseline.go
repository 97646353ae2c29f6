package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/baseline"
	"github.com/zkbench/zkbench/report/units"
)

func baselineCmd() *cobra.Command {
	var folder baseline.Folder
	cmd := group("baseline", "Store results and compare new runs with them", page("baseline"),
		baselineSaveCmd(&folder), baselineCompareCmd(&folder), baselineTrendCmd(&folder))
	cmd.PersistentFlags().StringVar((*string)(&folder), "dir", "zkbench-baselines", "folder of the stored results")
	cmd.PersistentPreRunE = func(*cobra.Command, []string) error {
		if info, err := os.Stat(string(folder)); err == nil && !info.IsDir() {
			return usageError("--dir %s is a file: name the folder of the stored results", string(folder))
		}
		return nil
	}
	return cmd
}

func baselineSaveCmd(folder *baseline.Folder) *cobra.Command {
	return &cobra.Command{
		Use:   "save DIR",
		Short: "Store the result of a run folder",
		Args:  oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, raw, err := report.ReadRawResult(args[0])
			if err != nil {
				return runError(err)
			}
			name, err := baseline.Save(*folder, r, raw)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), printable(fmt.Sprintf("%s: stored %s", *folder, name)))
			}
			return usage(err)
		},
	}
}

func baselineCompareCmd(folder *baseline.Folder) *cobra.Command {
	var c compareFlags
	cmd := &cobra.Command{
		Use:   "compare DIR",
		Short: "Report whether a run regressed against the last comparable baseline",
		Long: `Report whether a run regressed against the last comparable baseline. Exit code 0: no regression;
1: regression; 3: inconclusive, or no baseline is comparable (the reason is printed).`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, o, err := c.inputs(args)
			if err != nil {
				return runError(err)
			}
			old, err := baseline.Latest(*folder, runs[0])
			switch {
			case errors.Is(err, baseline.ErrNoBaseline):
				return exitError{err, exitUnknown}
			case err != nil:
				return usage(err)
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "baseline: %s\n", old.Name)
			return c.judge(cmd, old.Result, runs[0], o)
		},
	}
	c.registerJudging(cmd)
	return cmd
}

func baselineTrendCmd(folder *baseline.Folder) *cobra.Command {
	var c compareFlags
	cmd := &cobra.Command{
		Use:   "trend SCENARIO",
		Short: "Plot all baselines of a scenario over time",
		Args:  argCount(1, 1, "%s wants one scenario, not %s"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := baseline.All(*folder, args[0])
			if err != nil {
				return usage(err)
			}
			var runs []report.Result
			for _, e := range all {
				if e.Err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "skipped: %v\n", e.Err)
					continue
				}
				runs = append(runs, e.Result)
			}
			if len(runs) < 2 {
				return exitError{fmt.Errorf("only %s of %s can be read, but a trend requires two: store results with zkbench baseline save, or name their folder with --dir (%s)", units.Plural(len(runs), "baseline"), args[0], string(*folder)), exitUnknown}
			}
			_, o, err := c.inputs(nil)
			if err != nil {
				return usage(err)
			}
			return c.showTrend(cmd, runs, o)
		},
	}
	cmd.Flags().StringSliceVar(&c.metrics, "metrics", nil, "metrics to plot, for example handoff.latency.p99 (default: the metrics of compare)")
	cmd.Flags().StringVar(&c.out, "out", "", "folder for the page and the plots (default zkbench-out/trend-TIME)")
	return cmd
}
