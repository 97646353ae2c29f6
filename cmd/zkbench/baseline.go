package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/baseline"
	"github.com/zkbench/zkbench/report/units"
)

type baselineFlags struct{ dir string }

func baselineCmd() *cobra.Command {
	var f baselineFlags
	cmd := group("baseline", "Store results and compare new runs with them", page("baseline"),
		baselineSaveCmd(&f), baselineListCmd(&f), baselineCompareCmd(&f), baselineTrendCmd(&f))
	cmd.PersistentFlags().StringVar(&f.dir, "dir", "zkbench-baselines", "folder of the stored results")
	return cmd
}

func (f *baselineFlags) folder(cmd *cobra.Command) (baseline.Folder, error) {
	if _, err := os.Stat(f.dir); err != nil && cmd.Flags().Changed("dir") {
		return "", usageError("--dir: %w", err)
	}
	return baseline.Folder(f.dir), nil
}

func baselineSaveCmd(f *baselineFlags) *cobra.Command {
	return &cobra.Command{
		Use:               "save DIR",
		Short:             "Store the result of a run folder",
		ValidArgsFunction: completeFolders,
		Args:              oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			r, raw, err := report.ReadRawResult(args[0])
			if err != nil {
				return usage(err)
			}
			in := baseline.Folder(f.dir)
			name, err := baseline.Save(in, r, raw)
			if err == nil {
				fmt.Fprintln(cmd.OutOrStdout(), printable(fmt.Sprintf("%s: stored %s", in, name)))
			}
			return usage(err)
		},
	}
}

func baselineListCmd(f *baselineFlags) *cobra.Command {
	return &cobra.Command{
		Use:   "list [SCENARIO]",
		Short: "List stored results, oldest run first",
		Args:  argCount(0, 1, "%s takes at most one scenario, not %s (default: all scenarios)"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := f.all(cmd, args)
			if err != nil {
				return err
			}
			if len(all) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "no baselines are stored here (zkbench baseline save stores one)")
			}
			w := tabwriter.NewWriter(&sanitizingWriter{Writer: cmd.OutOrStdout()}, 0, 8, 2, ' ', 0)
			for _, e := range all {
				if e.Err != nil {
					fmt.Fprintf(w, "%s\tunreadable: %v\n", e.Name, e.Err)
					continue
				}
				on := e.Result.Run.Ensemble
				fmt.Fprintf(w, "%s\t%s\t%s of %d\t%s\n", e.Name, e.Result.Outcome(), cmp.Or(on.Kind, "no ensemble"), on.Members, units.Plural(len(e.Result.Trials), "trial"))
			}
			return w.Flush()
		},
	}
}

func (f *baselineFlags) all(cmd *cobra.Command, args []string) ([]baseline.Entry, error) {
	s, err := f.folder(cmd)
	if err != nil {
		return nil, err
	}
	all, err := baseline.All(s, strings.Join(args, "")) // at most one scenario
	return all, usage(err)
}

func baselineCompareCmd(f *baselineFlags) *cobra.Command {
	var c compareFlags
	cmd := &cobra.Command{
		Use:   "compare DIR",
		Short: "Report whether a run regressed against the last comparable baseline",
		Long: `Report whether a run regressed against the last comparable baseline. Exit code 0: no regression;
1: regression; 3: inconclusive, or no baseline is comparable (the reason is printed).`,
		ValidArgsFunction: completeFolders,
		Args:              oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := f.folder(cmd)
			if err != nil {
				return err
			}
			runs, o, err := c.inputs(args)
			if err != nil {
				return usage(err)
			}
			old, err := baseline.Latest(s, runs[0])
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

func baselineTrendCmd(f *baselineFlags) *cobra.Command {
	var c compareFlags
	cmd := &cobra.Command{
		Use:   "trend SCENARIO",
		Short: "Plot all baselines of a scenario over time",
		Args:  argCount(1, 1, "%s wants one scenario, not %s"),
		RunE: func(cmd *cobra.Command, args []string) error {
			all, err := f.all(cmd, args)
			if err != nil {
				return err
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
				return exitError{fmt.Errorf("only %s of %s can be read, but a trend requires two (zkbench baseline list shows all)", units.Plural(len(runs), "baseline"), args[0]), exitUnknown}
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
