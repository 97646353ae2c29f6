// Package render writes a [view.View] as a page, as plots, as a summary for a terminal or a
// comment on a pull request, and in the formats of CI systems and benchstat. Renderers compute
// nothing and add no sentences.
//
//	v := view.New(view.Input{Result: r})
//	err := render.Terminal(os.Stdout, v, render.Term{Width: 80})
//
// Each file of a run folder is an entry in this package's registry. To add one, add its name to report/folder.go,
// a source file that calls register, like bench.go, and a golden file in testdata, which a test requires.
package render

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/view"
	"golang.org/x/sync/errgroup"
)

type renderer func(io.Writer, *view.View) error

var files = map[string]renderer{report.PageFile: Page, report.SummaryFile: Markdown, report.JUnitFile: junit, report.BenchFile: bench}

// Folder writes all report files into the run folder, overwriting earlier ones, and removes
// earlier plots. The error joins all failed writes; the other files are written.
func Folder(dir string, v *view.View) error {
	errs := []error{Figures(dir, report.PlotDir, v.Figures), removeOldPlots(dir, v.Figures)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		errs = append(errs, write(dir, name, func(w io.Writer) error { return files[name](w, v) }))
	}
	return errors.Join(errs...)
}

// Figures writes each figure as SVG, PNG and CSV into the folder name below dir, which it creates.
func Figures(dir, name string, figures []*plot.Figure) error {
	errs := make([]error, len(figures))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, f := range figures {
		g.Go(func() error {
			file := filepath.Join(name, f.Name)
			errs[i] = errors.Join(write(dir, file+".svg", bytesOf(f.SVG)), write(dir, file+".png", bytesOf(f.PNG)), write(dir, file+".csv", bytesOf(f.CSV)))
			return nil
		})
	}
	_ = g.Wait() // the errors are in errs, so that one failure does not stop the others
	return errors.Join(errs...)
}

func bytesOf(draw func() ([]byte, error)) func(io.Writer) error {
	return func(w io.Writer) error {
		data, err := draw()
		if err == nil {
			_, err = w.Write(data)
		}
		return err
	}
}

func removeOldPlots(dir string, figures []*plot.Figure) error {
	kept := map[string]bool{}
	for _, f := range figures {
		kept[f.Name+".svg"], kept[f.Name+".png"], kept[f.Name+".csv"] = true, true, true
	}
	return report.RemoveFiles(dir, report.PlotDir, func(name string) bool {
		return slices.Contains([]string{".svg", ".png", ".csv"}, filepath.Ext(name)) && !kept[name]
	})
}

func write(dir, name string, content func(io.Writer) error) error {
	var b bytes.Buffer
	if err := content(&b); err != nil {
		return err
	}
	return report.WriteFile(dir, name, b.Bytes())
}
