// Package draw turns a run folder into what people and CI systems read: plots,
// report.html, summary.md, junit.xml and bench.txt. It needs what was concluded from the
// histories, nothing else; the same folder always gives the same bytes.
package draw

import (
	"errors"
	"path/filepath"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/second"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

// Folder draws the run folder at dir from what was concluded of it, over what was drawn
// there before, and returns what there is to say about it. A history that is missing or
// damaged costs its own plots only, and the page says so. The error joins everything that
// could not be written; the rest is there.
func Folder(dir string, c report.Conclusion) (*view.View, error) {
	stories := explain.Failures(c)
	err := opinions(dir, c, stories)
	v := view.Of(view.Input{Result: c.Result, Dir: dir, Traces: c.Traces, Stories: stories})
	return v, errors.Join(err, render.Folder(dir, v))
}

// opinions asks for a second opinion on every story of two holders at once, and
// leaves the search's own drawing beside the plots.
func opinions(dir string, c report.Conclusion, stories []explain.Story) error {
	var errs []error
	for i := range stories {
		s := &stories[i]
		if s.Guarantee != verdict.MutualExclusion {
			continue
		}
		h := c.Histories[s.Trial.Name]
		o := second.Search(h, s.From, s.To, verdict.Patience(h))
		if o.Result != report.Fail {
			continue // what broke was no overlap, or the window was too much for a search
		}
		s.Second = filepath.ToSlash(filepath.Join(report.PlotDir, "linearization-"+s.Trial.Name+".html"))
		// The search draws ties in another order each time. Its page is made once, so
		// that a folder that is drawn again stays as it is.
		if !report.Holds(dir, s.Second) {
			page, err := o.Draw()
			errs = append(errs, err, report.WriteFile(dir, s.Second, page))
		}
	}
	return errors.Join(errs...)
}
