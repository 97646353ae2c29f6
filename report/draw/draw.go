// Package draw turns a run folder into what people and CI systems read: plots,
// report.html, summary.md, junit.xml and bench.txt. It needs what was concluded from the
// histories, nothing else; the same folder always gives the same bytes.
package draw

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/html"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/text"
)

// Folder draws the run folder at dir from what was concluded of it, over what was drawn
// there before. A history that is missing or damaged costs its own plots only, and the
// page says so. The error joins everything that could not be written; the rest is there.
func Folder(dir string, c report.Conclusion) error {
	r, traces := c.Result, tracesOf(c)
	figures := figures(r, traces)
	errs := []error{plots(filepath.Join(dir, report.PlotDir), figures)}
	told := explain.Folder(c)
	errs = append(errs, opinions(dir, c, told))
	for _, f := range []struct {
		name  string
		write func(io.Writer) error
	}{
		{report.PageFile, func(w io.Writer) error {
			return html.Write(w, html.Input{Result: r, Figures: figures, Timelines: timelines(r.Trials, traces), Stories: told})
		}},
		{report.SummaryFile, func(w io.Writer) error { return text.Markdown(w, r) }},
		{report.JUnitFile, func(w io.Writer) error { return text.JUnit(w, r) }},
		{report.BenchFile, func(w io.Writer) error { return text.Bench(w, r) }},
	} {
		var b bytes.Buffer
		err := f.write(&b)
		if err == nil {
			err = report.WriteFile(filepath.Join(dir, f.name), b.Bytes())
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func tracesOf(c report.Conclusion) map[string]*trace {
	names := matrix.NamesOf(c.Result.Trials)
	out := map[string]*trace{}
	for _, t := range c.Result.Trials {
		out[t.Name] = newTrace(c.Traces[t.Name], t, names.Label(t))
	}
	return out
}

func timelines(trials []report.Trial, traces map[string]*trace) []plot.Timeline {
	var out []plot.Timeline
	for _, t := range text.InOrder(trials) {
		out = append(out, traces[t.Name].timeline)
	}
	return out
}

// figures draws up every plot that the data has something for.
func figures(r report.Result, traces map[string]*trace) []*plot.Figure {
	// What is provoked is explained, not measured: its plots would say nothing.
	all := matrix.Of(slices.DeleteFunc(slices.Clone(r.Trials), func(t report.Trial) bool { return t.Provocation != "" }))
	var labels []string
	for _, s := range all {
		for _, x := range s.Series {
			labels = append(labels, x.Label)
		}
	}
	looks := plot.NewLooks(labels)
	var out []*plot.Figure
	for _, s := range all {
		var figs []*plot.Figure
		figs = append(figs, overview(s, traces, looks)...)
		figs = append(figs, changes(s.Name, r.Comparisons))
		for _, x := range s.Merged().Series { // of a repeated cell, its worst trial
			for _, t := range x.Trials {
				figs = append(figs, traces[t.Name].figures(looks, t.Merged)...)
			}
		}
		figs = slices.DeleteFunc(figs, func(f *plot.Figure) bool { return f == nil })
		for _, f := range figs {
			if len(all) > 1 && f.Trial == "" { // a trial's name is unique already
				f.Rename(s.Name)
			}
		}
		out = append(out, figs...)
	}
	return out
}

// overview is the plots that compare the series of a scenario.
func overview(s matrix.Scenario, traces map[string]*trace, looks plot.Looks) []*plot.Figure {
	out := []*plot.Figure{plot.FanOut(s.Merged(), looks), plot.Flap(s.Merged(), looks)}
	for _, l := range latencies(s) {
		out = append(out, plot.Growth(s.Merged(), l.Name, l.Head, looks))
		for _, n := range slices.Backward(s.Counts) {
			dists := plot.Latencies(s, n, l.Name, func(trial string) []float64 { return traces[trial].Latencies[l.Name] })
			out = append(out, plot.Percentiles(l.Name, l.Head, n, dists, looks))
		}
	}
	return append(out, plot.Throughput(s, looks))
}

// latencies returns the metrics that the scenario measured. The wait in line of
// acquiring says little beside a hand-off and is left to the tables then.
func latencies(s matrix.Scenario) []metrics.Definition {
	has := func(metric string) bool {
		return slices.ContainsFunc(s.Series, func(x matrix.Series) bool {
			return slices.ContainsFunc(x.Trials, func(t report.Trial) bool { return t.Metrics[metric].P50 != nil })
		})
	}
	return slices.DeleteFunc(slices.Clone(text.Latencies), func(l metrics.Definition) bool {
		return !has(l.Name) || l.Name == metrics.AcquireLatency && has(metrics.HandoffLatency)
	})
}

// plots writes each figure as SVG and PNG, and removes the plots of a former drawing.
func plots(dir string, figures []*plot.Figure) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("plots: %w", err)
	}
	kept := map[string]bool{}
	for _, f := range figures {
		kept[f.Name+".svg"], kept[f.Name+".png"] = true, true
	}
	if err := sweep(dir, kept); err != nil {
		return err
	}
	errs := make([]error, len(figures))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range figures {
		g.Go(func() error {
			errs[i] = write(dir, f)
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs: one plot must not stop the others
	return errors.Join(errs...)
}

func write(dir string, f *plot.Figure) error {
	svg, err := f.SVG()
	if err == nil {
		err = report.WriteFile(filepath.Join(dir, f.Name+".svg"), svg)
	}
	if err != nil {
		return err
	}
	png, err := f.PNG()
	if err != nil {
		return err
	}
	return report.WriteFile(filepath.Join(dir, f.Name+".png"), png)
}

func sweep(dir string, kept map[string]bool) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("plots: %w", err)
	}
	for _, e := range entries {
		picture := strings.HasSuffix(e.Name(), ".svg") || strings.HasSuffix(e.Name(), ".png")
		if e.Type().IsRegular() && picture && !kept[e.Name()] {
			if err := os.Remove(filepath.Join(dir, e.Name())); err != nil {
				return fmt.Errorf("plots: removing a former plot: %w", err)
			}
		}
	}
	return nil
}
