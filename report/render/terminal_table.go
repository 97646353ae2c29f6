package render

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

func writeTable(b *strings.Builder, t view.Table, term Term) {
	t, legend := withShortHeads(t)
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
		if s == t.Note {
			fmt.Fprintln(b, wrap(s, "", term.Width))
		} else {
			fmt.Fprintln(b, wrapPairs(s, "", term.Width))
		}
	}
}

func withShortHeads(t view.Table) (view.Table, []string) {
	t.Columns = slices.Clone(t.Columns)
	for i, c := range t.Columns {
		if c.Short != "" {
			t.Columns[i].Head = c.Short
		}
	}
	var marks []string
	for _, m := range t.Marks {
		marks = append(marks, strings.TrimSpace(m.Kind+" "+m.Text))
	}
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

// wrap breaks text at spaces into lines of at most width characters; every line except the
// first is indented. It keeps consecutive spaces.
func wrap(s, indent string, width int) string {
	return fill(strings.Split(units.Clean(s), " "), indent, width)
}

// wrapPairs is like wrap for a legend with comma-separated pairs of a sign and its meaning. It
// breaks a pair only if it is longer than a line.
func wrapPairs(legend, indent string, width int) string {
	var parts []string
	pairs := strings.Split(units.Clean(legend), ", ")
	for i, pair := range pairs {
		if i < len(pairs)-1 {
			pair += ","
		}
		if len(indent)+utf8.RuneCountInString(pair) > width {
			parts = append(parts, strings.Split(pair, " ")...)
		} else {
			parts = append(parts, pair)
		}
	}
	return fill(parts, indent, width)
}

func fill(words []string, indent string, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range words {
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
