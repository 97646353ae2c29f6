package text

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// Terminal says what the terminal can do.
type Terminal struct {
	Width int  // columns; 0 means 100
	Color bool // ANSI colours are understood
}

// Summary writes the answer and a table of all trials for a person at a terminal.
func Summary(w io.Writer, r report.Result, term Terminal) error {
	if term.Width <= 0 {
		term.Width = 100
	}
	var b strings.Builder
	a := Answers(r)
	fmt.Fprintln(&b, wrap(a.Asked, term.Width))
	for _, s := range matrix.Of(r.Trials) {
		fmt.Fprintln(&b)
		if zoo(s) {
			writeZoo(&b, r.Trials, s.Name, term)
			continue
		}
		writeTable(&b, inOrder(s), term)
	}
	fmt.Fprintln(&b)
	for _, s := range append(append([]string{}, a.Found...), a.Doubts...) {
		fmt.Fprintln(&b, wrap(s, term.Width))
	}
	fmt.Fprintln(&b, paint(wrap(a.Verdict, term.Width), a.Result, term))
	_, err := io.WriteString(w, b.String())
	return err
}

// inOrder lists a scenario's trials by client count, and within it by series, so
// that what is compared stands together. Repetitions of a cell stand as one.
func inOrder(s matrix.Scenario) []report.Trial {
	var out []report.Trial
	for _, n := range s.Counts {
		for _, x := range s.Series {
			at := x.At(n)
			if len(at) == 0 {
				continue
			}
			t := matrix.Merge(at)
			t.Subject = x.Label
			out = append(out, t)
		}
	}
	return out
}

// InOrder lists all trials, scenario by scenario, as the tables show them. Each
// bears the label of its series as its subject.
func InOrder(trials []report.Trial) []report.Trial {
	var out []report.Trial
	for _, s := range matrix.Of(trials) {
		out = append(out, inOrder(s)...)
	}
	return out
}

func writeTable(b *strings.Builder, trials []report.Trial, term Terminal) {
	cols := Columns(trials)
	for tableWidth(cols, trials) > term.Width {
		drop := -1
		for i, c := range cols {
			if c.spare > 0 && (drop < 0 || c.spare >= cols[drop].spare) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		cols = append(cols[:drop:drop], cols[drop+1:]...)
	}
	widths := make([]int, len(cols))
	for i, c := range cols {
		widths[i] = columnWidth(c, trials)
	}
	row := func(cell func(Column) string) string {
		parts := make([]string, len(cols))
		for i, c := range cols {
			parts[i] = pad(cell(c), widths[i], c.Right)
		}
		return strings.TrimRight(strings.Join(parts, "  "), " ")
	}
	fmt.Fprintln(b, row(func(c Column) string { return c.Head }))
	for _, t := range trials {
		line := row(func(c Column) string { return c.Cell(t) })
		fmt.Fprintln(b, paint(line, quiet(TrialOutcome(t)), term))
	}
}

// quiet leaves passing rows uncoloured, so that the others stand out.
func quiet(result string) string {
	if result == report.Pass {
		return ""
	}
	return result
}

// resultWidth is what the last column may take before it counts against the
// others: its text may run over the edge, a number may not.
const resultWidth = 24

func columnWidth(c Column, trials []report.Trial) int {
	w := utf8.RuneCountInString(c.Head)
	for _, t := range trials {
		w = max(w, utf8.RuneCountInString(c.Cell(t)))
	}
	return w
}

func tableWidth(cols []Column, trials []report.Trial) int {
	total := 2 * (len(cols) - 1)
	for _, c := range cols {
		w := columnWidth(c, trials)
		if c.Head == "result" {
			w = min(w, resultWidth)
		}
		total += w
	}
	return total
}

func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if right {
		return space + s
	}
	return s + space
}

func paint(s, result string, term Terminal) string {
	code := map[string]string{report.Pass: "32", report.Fail: "31", report.Unknown: "33"}[result]
	if !term.Color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// wrap breaks a sentence into lines of at most width characters.
func wrap(s string, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Fields(units.Clean(s)) {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width:
			b.WriteString("\n")
			used = 0
		default:
			b.WriteString(" ")
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
