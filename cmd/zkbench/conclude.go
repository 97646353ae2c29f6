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

	"zkbench/report"
	"zkbench/report/draw"
	"zkbench/report/text"
)

// conclude judges the run folder, writes everything that follows from its histories,
// prints the summary, and returns the result as an error that decides the exit code.
func (f *runFlags) conclude(cmd *cobra.Command, dir string, run report.Run) error {
	r, err := report.Conclude(dir, run)
	if err != nil {
		return err
	}
	drawn := draw.Folder(dir)
	if err := show(cmd.OutOrStdout(), r, f.json); err != nil {
		return errors.Join(err, drawn)
	}
	if !f.json {
		if err := tell(cmd.OutOrStdout(), dir, r, false); err != nil {
			return errors.Join(err, drawn)
		}
	}
	page, err := filepath.Abs(filepath.Join(dir, "report.html"))
	if err != nil || drawn != nil {
		return errors.Join(err, drawn)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", page)
	if err := tellGitHub(cmd.ErrOrStderr(), dir, r); err != nil {
		return err
	}
	return verdictError(r)
}

// show prints the summary, or result.json.
func show(w io.Writer, r report.Result, asJSON bool) error {
	if asJSON {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(r)
	}
	var t text.Terminal
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.Color = os.Getenv("NO_COLOR") == ""
		t.Width, _, _ = term.GetSize(int(f.Fd()))
	}
	return text.Summary(w, r, t)
}

// verdictError turns what was concluded into an exit code; the summary has said why.
func verdictError(r report.Result) error {
	switch text.Outcome(r) {
	case report.Pass:
		return nil
	case report.Fail:
		return coded{errors.New("a guarantee was broken or a threshold failed"), exitBroken}
	}
	return coded{errors.New("not everything could be judged, and unknown is not a pass"), exitUnknown}
}
