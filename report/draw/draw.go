// Package draw writes the reports of a run folder: plots, report.html, summary.md, junit.xml and
// bench.txt. It needs only the [report.Conclusion]; its output is deterministic.
package draw

import (
	"errors"
	"path/filepath"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/facts"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/second"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

// Folder writes the reports of the run folder at dir, overwriting earlier ones, and returns their
// view. A missing or damaged history affects only its own plots, and the page reports it. The
// error joins all failed writes; the other files are written.
func Folder(dir string, c report.Conclusion) (*view.View, error) {
	stories := explain.Failures(c)
	err := opinions(dir, c, stories)
	v := view.New(view.Input{Result: c.Result, Dir: dir, Traces: c.Traces, Stories: stories})
	return v, errors.Join(err, render.Folder(dir, v))
}

// opinions runs the linearizability search for every story about two holders at the same time,
// and writes its visualization next to the plots.
func opinions(dir string, c report.Conclusion, stories []explain.Story) error {
	var errs []error
	for i := range stories {
		s := &stories[i]
		if s.Guarantee != verdict.MutualExclusion {
			continue
		}
		h := c.Histories[s.Trial.Name]
		o := second.Search(h, s.From, s.To, facts.MaxDetection(h))
		if o.Result != report.Fail {
			continue // the violation is not an overlap, or the window is too large for a search
		}
		s.Second = filepath.ToSlash(filepath.Join(report.PlotDir, "linearization-"+s.Trial.Name+".html"))
		// The search orders ties randomly. Its page is written only once, so that rendering a
		// folder again does not change it.
		if !report.Exists(dir, s.Second) {
			page, err := o.Draw()
			errs = append(errs, err, report.WriteFile(dir, s.Second, page))
		}
	}
	return errors.Join(errs...)
}
