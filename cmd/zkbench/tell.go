package main

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
)

// toldLimit is how many failed verdicts are told on the terminal; the page has more.
const toldLimit = 5

// tell prints the stories behind failed verdicts. What is broken on purpose is told
// only where it was asked for.
func tell(w io.Writer, dir string, c report.Conclusion, onPurpose bool) error {
	stories := explain.Folder(c)
	width := 100
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		if columns, _, err := term.GetSize(int(f.Fd())); err == nil {
			width = columns
		}
	}
	var told, caught []explain.Story
	for _, s := range stories {
		if len(s.Trial.Expect) > 0 && !onPurpose {
			caught = append(caught, s)
		} else {
			told = append(told, s)
		}
	}
	for _, s := range told[:min(len(told), toldLimit)] {
		fmt.Fprintln(w)
		if err := s.Text(w, width); err != nil {
			return err
		}
	}
	if len(told) > toldLimit {
		fmt.Fprintf(w, "\nmore is told in report.html\n")
	}
	if len(caught) > 0 {
		fmt.Fprintf(w, "\nHow each was caught is told in report.html; or: zkbench check %s --trial %s\n", dir, caught[0].Trial.Name)
	}
	return nil
}
