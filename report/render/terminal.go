package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

type Term struct {
	Width int  // columns; 0 means 100
	Color bool // the terminal supports ANSI colors
}

const (
	summaryLines    = 2 // lines for the scenarios
	sentenceLimit   = 3
	sentenceLines   = 2 // lines for one sentence
	incompleteLines = 6 // lines for the reason why a trial did not complete
)

// Terminal writes a summary for a terminal: the explanations of the first v.Shown violations, the tables, the most important findings, and finally the verdict, so that it is next to the prompt. It also writes the number of omitted findings and the file that contains them.
func Terminal(w io.Writer, v *view.View, term Term) error {
	if term.Width <= 0 {
		term.Width = 100
	}
	var b strings.Builder
	for _, s := range v.Explanations[:v.Shown] {
		writeExplanation(&b, s, max(term.Width, 60))
		fmt.Fprintln(&b)
	}
	fmt.Fprintln(&b, clip(units.Wrap(v.Description, "", term.Width), summaryLines, term.Width))
	for _, t := range v.Brief {
		fmt.Fprintln(&b)
		writeTable(&b, t, term)
	}
	fmt.Fprintln(&b)
	first, rest := v.Ranked()
	all, more := slices.Concat(first, rest), v.More
	if left := len(all) - sentenceLimit; left > 0 {
		all, more = all[:sentenceLimit], append([]string{fmt.Sprintf("%d more in %s.", left, v.Page)}, more...)
	}
	for _, f := range all {
		lines := sentenceLines
		if f.Text == verdict.Completed {
			lines = incompleteLines
		}
		fmt.Fprintln(&b, clip(units.Wrap(f.String(), "  ", term.Width), lines, term.Width))
	}
	if len(more) > 0 {
		fmt.Fprintln(&b, units.Wrap(strings.Join(more, " "), "  ", term.Width))
	}
	fmt.Fprintln(&b, paint(units.Wrap(v.Verdict, "", term.Width), v.Result, term))
	_, err := io.WriteString(w, b.String())
	return err
}

func clip(s string, lines, width int) string {
	all := strings.Split(s, "\n")
	if len(all) <= lines {
		return s
	}
	last := units.Truncate(all[lines-1]+" "+strings.TrimSpace(all[lines]), width)
	return strings.Join(append(all[:lines-1:lines-1], last), "\n")
}

func writeExplanation(b *strings.Builder, s view.Explanation, width int) {
	fmt.Fprintln(b, units.Wrap(s.Title, "", width))
	fmt.Fprintln(b, units.Wrap("  Promise: "+s.Guarantee.Promise, "  ", width))
	fmt.Fprintln(b, units.Wrap("  Violation: "+s.Violation, "  ", width))
	for _, f := range s.Details {
		fmt.Fprintln(b, units.Wrap("  "+f.Name+": "+f.Value, "  ", width))
	}
	for i, e := range s.Events {
		mark := " "
		if e.Proof {
			mark = "*"
		}
		head := fmt.Sprintf(" %s%2d %9s  %-9s ", mark, i+1, units.Moment(e.At), units.Clean(e.Who))
		what := units.Clean(e.What)
		if e.Record > 0 {
			what += fmt.Sprintf(" (record %d)", e.Record)
		}
		fmt.Fprintln(b, units.Wrap(head+what, strings.Repeat(" ", 26), width))
	}
	if s.More != "" {
		fmt.Fprintf(b, "  %s\n", s.More)
	}
	fmt.Fprintf(b, "  * proves the violation; all records: %s\n", s.RecordsCommand)
	if s.RerunCommand != "" {
		fmt.Fprintf(b, "  to run it again: %s\n", s.RerunCommand)
	}
}

func writeTable(b *strings.Builder, t view.Table, term Term) {
	t, legend := withShortHeads(t)
	for tableWidth(t) > term.Width {
		drop := -1
		keep := make([]int, len(t.Columns))
		for i, c := range t.Columns {
			keep[i] = i
			if c.DropOrder > 0 && (drop < 0 || c.DropOrder >= t.Columns[drop].DropOrder) {
				drop = i
			}
		}
		if drop < 0 {
			break
		}
		t = t.Pick(slices.Delete(keep, drop, drop+1))
	}
	line := func(cell func(i int) string) string {
		parts := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			format := "%-*s"
			if c.Kind == view.Number {
				format = "%*s"
			}
			parts[i] = fmt.Sprintf(format, columnWidth(t, i), cell(i))
		}
		return strings.TrimRight(strings.Join(parts, "  "), " ")
	}
	if len(t.Rows) > 0 {
		fmt.Fprintln(b, line(func(i int) string { return t.Columns[i].Head }))
	}
	for _, r := range t.Rows {
		result := r.Result
		if result == report.Pass { // not colored, so that the others are noticeable
			result = ""
		}
		fmt.Fprintln(b, paint(line(func(i int) string { return units.Clean(r.Cells[i]) }), result, term))
	}
	for _, s := range legend {
		fmt.Fprintln(b, units.Wrap(s, "", term.Width))
	}
}

func withShortHeads(t view.Table) (view.Table, []string) {
	t.Columns = slices.Clone(t.Columns)
	for i, c := range t.Columns {
		if c.Short != "" {
			t.Columns[i].Head = c.Short
		}
	}
	marks := units.Names(t.Marks, func(m view.Mark) string { return strings.TrimSpace(m.Kind + " " + m.Text) })
	legend := []string{t.Legend, strings.Join(marks, ", "), t.Note}
	return t, slices.DeleteFunc(legend, func(s string) bool { return s == "" })
}

// statusWidth is the largest width of a status column that tableWidth counts: a status text may exceed
// the line, numbers may not.
const statusWidth = 24

func columnWidth(t view.Table, i int) int {
	w := utf8.RuneCountInString(t.Columns[i].Head)
	for _, r := range t.Rows {
		w = max(w, utf8.RuneCountInString(units.Clean(r.Cells[i])))
	}
	return w
}

func tableWidth(t view.Table) int {
	total := 2 * (len(t.Columns) - 1)
	for i, c := range t.Columns {
		w := columnWidth(t, i)
		if c.Kind == view.Status {
			w = min(w, statusWidth)
		}
		total += w
	}
	return total
}

func paint(s, result string, term Term) string {
	code := map[string]string{report.Pass: "32", report.Fail: "31", report.Unknown: "33"}[result]
	if !term.Color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}
