package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/compare"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/view"
)

type compareFlags struct {
	regression string
	metrics    []string
	force      bool
	json       bool
	out        string
}

func compareCmd() *cobra.Command {
	var f compareFlags
	cmd := &cobra.Command{
		Use:   "compare OLD NEW",
		Short: "Report whether NEW regressed against OLD (no ensemble needed)",
		Long:  page("compare"),
		Example: `  zkbench compare main/ branch/
  zkbench compare main/result.json branch/result.json --max-regression 10%
  zkbench compare main/ branch/ --metrics failover.latency.p50`,
		Args: argCount(2, 2, "%s wants two runs, OLD and NEW, not %s"),
		RunE: func(cmd *cobra.Command, args []string) error {
			runs, o, err := f.inputs(args)
			if err != nil {
				return runError(err)
			}
			return f.judge(cmd, runs[0], runs[1], o)
		},
	}
	f.registerJudging(cmd)
	cmd.Flags().BoolVar(&f.force, "force", false, "compare the runs even if their conditions differ")
	return cmd
}

func (f *compareFlags) registerJudging(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringVar(&f.regression, "max-regression", "5%", "maximum tolerated slowdown")
	fl.StringSliceVar(&f.metrics, "metrics", nil, "metrics to compare, in addition to counts and guarantees, for example handoff.latency.p99 (default handoff.latency.p50,queue.latency.p50,throughput)")
	fl.BoolVar(&f.json, "json", false, "print the comparison as JSON on stdout instead of a table")
	fl.StringVar(&f.out, "out", "", "folder for the page, its plots and compare.md (default zkbench-out/compare-TIME)")
}

func (f *compareFlags) judge(cmd *cobra.Command, old, now report.Result, o compare.Options) (err error) {
	reasons := compare.IncomparableReasons(old, now)
	if len(reasons) > 0 && !f.force {
		return usageError("the runs are not comparable (use --force to compare them anyway):\n  %s", strings.Join(reasons, "\n  "))
	}
	c := compare.Runs(old, now, o)
	c.Differences = reasons
	v := c.View()
	if f.json {
		err = printJSON(cmd.OutOrStdout(), c)
	} else {
		err = showWhole(cmd.OutOrStdout(), v)
	}
	result := resultError(c.Result, "the new run is worse",
		"result: inconclusive: cannot determine whether the new run is slower; this is not a pass")
	return errors.Join(err, f.writeFiles(cmd.ErrOrStderr(), v), result) // an output error does not hide the result
}

func (f *compareFlags) writeFiles(stderr io.Writer, v *view.View) error {
	dir, err := writePage(stderr, f.out, v)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := render.Markdown(&text, v); err != nil {
		return err
	}
	return errors.Join(report.WriteFile(dir, "compare.md", text.Bytes()), stepSummary(text.Bytes()))
}

func (f *compareFlags) inputs(paths []string) (runs []report.Result, o compare.Options, err error) {
	f.regression = cmp.Or(f.regression, "5%")
	digits, ok := strings.CutSuffix(f.regression, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if !ok || err != nil || !(v >= 0 && v <= 1000) { // also rejects NaN
		return nil, o, fmt.Errorf("--max-regression %s: want a percentage from 0%% to 1000%%, like 5%%", f.regression)
	}
	o.MaxRegression = v / 100
	for _, name := range f.metrics {
		m, err := report.ParseMeasure(name)
		if err != nil {
			return nil, o, fmt.Errorf("--metrics %s: %w", name, err)
		}
		if !slices.Contains(o.Measures, m) {
			o.Measures = append(o.Measures, m)
		}
	}
	for _, path := range paths {
		r, err := report.ReadResult(path)
		if err != nil {
			return nil, o, err
		}
		runs = append(runs, r)
	}
	return runs, o, nil
}

func (f *compareFlags) showTrend(cmd *cobra.Command, runs []report.Result, o compare.Options) error {
	v := compare.Trend(runs, o.Measures)
	if len(v.Figures) == 0 {
		return exitError{errors.New("no plot can be drawn: the runs do not contain any latency, count or throughput"), exitUnknown}
	}
	if err := showWhole(cmd.OutOrStdout(), v); err != nil {
		return err
	}
	dir, err := writePage(cmd.ErrOrStderr(), f.out, v)
	if err != nil {
		return err
	}
	return report.WriteFile(dir, "trend.csv", []byte(compare.TrendCSV(runs, o.Measures)))
}

// showWhole is like show, but does not truncate lines if w is not a terminal.
func showWhole(w io.Writer, v *view.View) error {
	t := terminal(w)
	t.Width = cmp.Or(t.Width, 1000)
	return render.Terminal(w, v, t)
}

// writePage writes the page of a view and its plots to dir, or to a new folder if dir is "", and returns
// the folder. It prints the path to stderr. It returns an error if dir is a run folder.
func writePage(stderr io.Writer, dir string, v *view.View) (_ string, err error) {
	if dir == "" {
		if dir, err = newFolder(v.Name); err != nil {
			return "", err
		}
	}
	for _, run := range []string{report.ResultFile, report.HistoryDir} {
		if _, err := os.Stat(filepath.Join(dir, run)); err == nil {
			return "", usageError("--out %s is a run folder: name another folder", dir)
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", usageError("--out %s: %v", dir, err)
	}
	var page bytes.Buffer
	err = errors.Join(render.Page(&page, v), render.Figures(dir, report.PlotDir, v.Figures))
	if err = errors.Join(err, report.WriteFile(dir, v.Page, page.Bytes())); err != nil {
		return "", err
	}
	fmt.Fprintf(stderr, "report: %s\n", filepath.Join(dir, v.Page))
	return dir, nil
}

func onGitHub() bool { return os.Getenv("GITHUB_ACTIONS") == "true" }

// annotate adds annotations for failed and unknown results to the GitHub workflow run, and appends the
// result to its summary. Annotations go to stderr, which GitHub also reads, since stdout may be JSON.
func annotate(stderr io.Writer, v *view.View) error {
	if !onGitHub() {
		return nil
	}
	for _, line := range render.Annotations(v) {
		fmt.Fprintln(stderr, line)
	}
	var page bytes.Buffer
	return errors.Join(render.Markdown(&page, v), stepSummary(page.Bytes()))
}

// stepSummary appends to the summary of the GitHub workflow's step. Elsewhere it does nothing.
func stepSummary(markdown []byte) error {
	path := os.Getenv("GITHUB_STEP_SUMMARY")
	if !onGitHub() || path == "" {
		return nil
	}
	w, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("step summary: %w", err)
	}
	_, err = w.Write(append(markdown, '\n'))
	return errors.Join(err, w.Close())
}
