package draw

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/second"
	"github.com/zkbench/zkbench/report/verdict"
)

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
		page := filepath.Join(dir, s.Second)
		if _, err := os.Stat(page); errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, o.Draw(page))
		}
	}
	return errors.Join(errs...)
}
