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
	"github.com/zkbench/zkbench/report/draw"
	"github.com/zkbench/zkbench/report/render"
	"github.com/zkbench/zkbench/report/view"
)

// conclude judges the run folder, writes everything that follows from its histories,
// prints the summary, and returns the result as an error that decides the exit code.
func (f *runFlags) conclude(cmd *cobra.Command, dir string, run report.Run) error {
	c, err := report.Conclude(dir, run)
	if err != nil {
		return err
	}
	// Whatever else goes wrong, a broken guarantee decides the exit code.
	v, drawn := draw.Folder(dir, c)
	if page, err := filepath.Abs(filepath.Join(dir, report.PageFile)); drawn == nil && err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "report: %s\n", page)
	}
	shown := show(cmd.OutOrStdout(), v)
	if f.json {
		shown = printJSON(cmd.OutOrStdout(), c.Result)
	}
	return errors.Join(drawn, shown, annotate(cmd.ErrOrStderr(), v), verdictError(v.Result))
}

// show prints the summary.
func show(w io.Writer, v *view.View) error { return render.Terminal(w, v, terminal(w)) }

// terminal says what the terminal can do; nothing where w is none.
func terminal(w io.Writer) render.Term {
	var t render.Term
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		t.Color = os.Getenv("NO_COLOR") == ""
		t.Width, _, _ = term.GetSize(int(f.Fd()))
	}
	return t
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// verdictError turns the result into an exit code; the summary has said why.
func verdictError(result string) error {
	switch result {
	case report.Pass:
		return nil
	case report.Fail:
		return coded{errors.New("a guarantee was broken or a threshold failed"), exitBroken}
	}
	return coded{errors.New("not everything could be judged, and unknown is not a pass"), exitUnknown}
}
