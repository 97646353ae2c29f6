// Package draw writes the reports of a run folder: plots, report.html, summary.md, junit.xml and
// bench.txt. It needs only the [report.Conclusion]; its output is deterministic.
package draw

import (
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/view"
)

// Folder writes the reports of the run folder at dir, overwriting earlier ones, and returns their
// view. A missing or damaged history affects only its own plots, and the page reports it. The
// error joins all failed writes; the other files are written.
func Folder(dir string, c report.Conclusion) (*view.View, error) {
	explanations := explain.Failures(c)
	v := view.New(view.Input{Result: c.Result, Dir: dir, Traces: c.Traces, Explanations: explanations})
	return v, render.Folder(dir, v)
}
