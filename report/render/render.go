// Package render writes a view: as the page, as plots, as the summary on a terminal and
// in a comment on a pull request, and in the formats that CI systems and benchstat read.
// A renderer computes nothing, and has no sentences of its own: it writes what the
// [view.View] says.
//
//	v := view.Of(view.Input{Result: r})
//	err := render.Terminal(os.Stdout, v, render.Term{Width: 80})
//
// A file of a run folder is one entry in this package's registry. To add one takes a file
// here, for instance trials.csv.go:
//
//	var _ = register("trials.csv", func(w io.Writer, v *view.View) error {
//		out := csv.NewWriter(w)
//		for _, t := range v.Tables {
//			for _, r := range t.Rows {
//				_ = out.Write(r.Cells) // Flush keeps the error
//			}
//		}
//		out.Flush()
//		return out.Error()
//	})
//
// and the file's approved content beside those in testdata, of which a test makes sure.
package render

import (
	"bytes"
	"errors"
	"io"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/view"
)

// renderer writes a view.
type renderer func(io.Writer, *view.View) error

// files are the files of a run folder, by name.
var files = map[string]renderer{}

// register adds a file to every run folder. It returns the renderer, to be assigned.
func register(name string, r renderer) renderer {
	files[name] = r
	report.Rendered(name)
	return r
}

// Folder writes every file that people and CI systems read into the run folder, over
// what was written there before, and removes former plots. The error joins everything
// that could not be written; the rest is there.
func Folder(dir string, v *view.View) error {
	errs := []error{Figures(dir, report.PlotDir, v.Figures), sweep(dir, v.Figures)}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		errs = append(errs, write(dir, name, func(w io.Writer) error { return files[name](w, v) }))
	}
	return errors.Join(errs...)
}

// Figures writes each figure as SVG and PNG, and its numbers as CSV, into the folder called name below dir, which it
// makes.
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
	_ = g.Wait() // the errors are in errs: one plot must not stop the others
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

// sweep removes the plots of a former drawing.
func sweep(dir string, figures []*plot.Figure) error {
	kept := map[string]bool{}
	for _, f := range figures {
		kept[f.Name+".svg"], kept[f.Name+".png"], kept[f.Name+".csv"] = true, true, true
	}
	return report.Sweep(dir, report.PlotDir, func(name string) bool {
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
