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
	"github.com/zkbench/zkbench/report/text"
)

// conclude prints what a run has come to, and returns the result as an error that decides
// the exit code.
func (f *runFlags) conclude(cmd *cobra.Command, dir string, c report.Conclusion) error {
	// Whatever else goes wrong, a broken guarantee decides the exit code.
	errs := []error{show(cmd.OutOrStdout(), c.Result, f.json)}
	if !f.json {
		errs = append(errs, tell(cmd.OutOrStdout(), dir, c, false))
	}
	page := filepath.Join(dir, report.PageFile)
	if _, err := os.Stat(page); err == nil {
		if whole, err := filepath.Abs(page); err == nil {
			page = whole
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", page)
	}
	errs = append(errs, tellGitHub(cmd.ErrOrStderr(), dir, c.Result), verdictError(c.Result))
	return errors.Join(errs...)
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
	switch r.Outcome() {
	case report.Pass:
		return nil
	case report.Fail:
		return coded{errors.New("a guarantee was broken or a threshold failed"), exitBroken}
	}
	return coded{errors.New("not everything could be judged, and unknown is not a pass"), exitUnknown}
}
