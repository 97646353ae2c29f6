package render

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// Term says what the terminal can do.
type Term struct {
	Width int  // columns; 0 means 100
	Color bool // ANSI colours are understood
}

// Terminal writes the answer, the tables and the first stories for a person at a terminal.
func Terminal(w io.Writer, v *view.View, term Term) error {
	if term.Width <= 0 {
		term.Width = 100
	}
	var b strings.Builder
	fmt.Fprintln(&b, wrap(v.Asked, "", term.Width))
	for _, t := range v.Tables {
		fmt.Fprintln(&b)
		writeTable(&b, t, term)
	}
	fmt.Fprintln(&b)
	for _, f := range v.Of(view.Measures, view.Doubt, view.Note) {
		fmt.Fprintln(&b, wrap(f.String(), "", term.Width))
	}
	fmt.Fprintln(&b, paint(wrap(v.Verdict, "", term.Width), v.Result, term))
	for _, s := range v.Stories[:v.Shown] {
		fmt.Fprintln(&b)
		writeStory(&b, s, max(term.Width, 60))
	}
	for _, line := range v.More {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeTable leaves out columns until the table fits.
func writeTable(b *strings.Builder, t view.Table, term Term) {
	for tableWidth(t) > term.Width {
		drop := -1
		keep := make([]int, len(t.Columns))
		for i, c := range t.Columns {
			keep[i] = i
			if c.Spare > 0 && (drop < 0 || c.Spare >= t.Columns[drop].Spare) {
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
			parts[i] = pad(cell(i), columnWidth(t, i), c.Kind == view.Number)
		}
		return strings.TrimRight(strings.Join(parts, "  "), " ")
	}
	fmt.Fprintln(b, line(func(i int) string { return t.Columns[i].Head }))
	for _, r := range t.Rows {
		result := r.Result
		if result == report.Pass { // stays plain, so that the others stand out
			result = ""
		}
		fmt.Fprintln(b, paint(line(func(i int) string { return units.Clean(r.Cells[i]) }), result, term))
	}
}

// statusWidth is what the status may take before it counts against the others: its text
// may run over the edge, a number may not.
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

// writeStory explains a failed verdict.
func writeStory(b *strings.Builder, s view.Story, width int) {
	fmt.Fprintln(b, wrap(s.Title, "", width))
	for _, f := range s.Says {
		fmt.Fprintln(b, wrap("  "+f.Name+": "+f.Value, "  ", width))
	}
	writeLanes(b, s.Chart, view.StoryMarks, width)
	for _, e := range s.Events {
		mark := " "
		if e.Proof {
			mark = "*"
		}
		head := fmt.Sprintf("  %s %9s  %-9s ", mark, units.Moment(e.At), units.Clean(e.Who))
		fmt.Fprintln(b, wrap(head+fmt.Sprintf("%s (record %d)", units.Clean(e.What), e.Record), strings.Repeat(" ", 25), width))
	}
	if s.More != "" {
		fmt.Fprintf(b, "  %s\n", s.More)
	}
	fmt.Fprintf(b, "  * proves it; all records: %s\n", s.Proof)
}

func pad(s string, width int, right bool) string {
	space := strings.Repeat(" ", max(0, width-utf8.RuneCountInString(s)))
	if right {
		return space + s
	}
	return s + space
}

func paint(s, result string, term Term) string {
	code := map[string]string{report.Pass: "32", report.Fail: "31", report.Unknown: "33"}[result]
	if !term.Color || code == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// wrap breaks text at spaces into lines of at most width characters; every line but the
// first is indented. Spaces that stand together stay together.
func wrap(s, indent string, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(units.Clean(s), " ") {
		n := utf8.RuneCountInString(word)
		switch {
		case i == 0:
		case used+1+n > width && word != "":
			b.WriteString("\n" + indent)
			used = len(indent)
		default:
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
