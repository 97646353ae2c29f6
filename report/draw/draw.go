// Package draw turns a run folder into what people and CI systems read: plots,
// report.html, summary.md, junit.xml and bench.txt. It needs result.json and the
// histories, nothing else; the same folder always gives the same bytes.
package draw

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/view"
)

// Folder draws the run folder at dir, over what was drawn there before, and returns what
// there is to say about it. A history that is missing or damaged costs its own plots only,
// and the page says so. The error joins everything that could not be written; the rest is
// there.
func Folder(dir string) (*view.View, error) {
	r, err := report.ReadResult(dir)
	if err != nil {
		return nil, err
	}
	stories, _ := explain.Folder(dir, r) // a history that cannot be read has a verdict that says so
	err = os.MkdirAll(filepath.Join(dir, report.PlotDir), 0o755)
	err = errors.Join(err, opinions(dir, stories))
	v := view.Of(view.Input{Result: r, Dir: dir, Traces: observe(dir, r.Trials), Stories: stories})
	return v, errors.Join(err, render.Folder(dir, v))
}

// observe reads the histories of all trials, as many at once as there are processors.
func observe(dir string, trials []report.Trial) map[string]*view.Trace {
	found := make([]*view.Trace, len(trials))
	names := matrix.NamesOf(trials)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range trials {
		g.Go(func() error {
			tr := read(report.HistoryPath(dir, t.Name), t, names.Label(t))
			found[i] = &view.Trace{Timeline: tr.Timeline, Latencies: tr.exact, Failovers: tr.fails, Depth: tr.queueDepth()}
			return nil
		})
	}
	_ = g.Wait() // read has no error: what it could not read, the trace says
	out := map[string]*view.Trace{}
	for i, t := range trials {
		out[t.Name] = found[i]
	}
	return out
}
