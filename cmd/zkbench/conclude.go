package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/view"
	"github.com/zkbench/zkbench/scenarios"
)

// conclude prints the result of a scenario's run, and returns the error for its exit code.
func (f *runFlags) conclude(cmd *cobra.Command, dir string, s *scenarios.Scenario, c report.Conclusion) error {
	page := filepath.Join(dir, report.PageFile)
	if _, err := os.Stat(page); err == nil {
		if whole, err := filepath.Abs(page); err == nil {
			page = whole
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", page)
	}
	v := view.Of(view.Input{Result: c.Result, Dir: dir, Stories: explain.Failures(c)})
	v.OneScreen()
	var shown error
	if f.json {
		shown = printJSON(cmd.OutOrStdout(), c.Result)
	} else {
		shown = show(cmd.OutOrStdout(), v)
	}
	result := verdictError(v.Result)
	if s.Incident.Thread != "" {
		result = incidentError(cmd.ErrOrStderr(), s, v.Result)
	}
	// A broken guarantee decides the exit code, regardless of other errors.
	return errors.Join(shown, annotate(cmd.ErrOrStderr(), v), result)
}

func show(w io.Writer, v *view.View) error { return render.Terminal(w, v, terminal(w)) }

func terminal(w io.Writer) render.Term {
	var t render.Term
	if f := tty(w); f != nil {
		t.Color = os.Getenv("NO_COLOR") == ""
		t.Width, _, _ = term.GetSize(int(f.Fd()))
	}
	return t
}

// tty returns the terminal behind w, or nil.
func tty(w io.Writer) *os.File {
	if s, ok := w.(stream); ok {
		w = s.File
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// verdictError returns the error for a result's exit code; the summary has explained it.
func verdictError(result string) error {
	switch result {
	case report.Pass:
		return nil
	case report.Fail:
		return coded{errors.New("a guarantee was broken or a threshold failed"), exitBroken}
	}
	return coded{errors.New("result: inconclusive; some guarantees or thresholds are unknown, which is not a pass"), exitUnknown}
}
