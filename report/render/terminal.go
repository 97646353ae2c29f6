package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

// Term describes the terminal.
type Term struct {
	Width int  // columns; 0 means 100
	Color bool // the terminal supports ANSI colors
}

// screen is the number of available lines on a terminal, not counting the prompt.
const screen = 23

// Terminal writes a summary for a terminal: the first v.Shown stories, then one screen with the
// verdict last, next to the prompt. If there is no room for all findings, it states how many were
// omitted and where they are.
func Terminal(w io.Writer, v *view.View, term Term) error {
	if term.Width <= 0 {
		term.Width = 100
	}
	var b strings.Builder
	for _, s := range v.Stories[:v.Shown] {
		writeStory(&b, s, max(term.Width, 60))
		fmt.Fprintln(&b)
	}
	verdict := wrap(v.Verdict, "", term.Width)
	all := sentences(v, term.Width)
	rest := v.More
	if n := len(all); n > 0 {
		rest = append([]string{moreText(n, v.Page)}, rest...) // the longest variant
	}
	available := screen - term.lines(verdict+"\n") - term.lines(joinMore(rest, term.Width)) - 1
	least := term.lines(strings.Join(all[:min(minSentences, len(all))], ""))
	head := brief(v, term, available-least)
	var card strings.Builder
	if t := v.BriefScorecard(); t != nil {
		fmt.Fprintln(&card)
		writeTable(&card, *t, term)
	}
	if available-term.lines(head)-term.lines(card.String()) < least {
		card.Reset() // the tables show the broken guarantees too
	}
	head += card.String()
	shown, left := term.takeFitting(all, max(available-term.lines(head), least))
	b.WriteString(head + "\n" + shown)
	if rest = v.More; left > 0 {
		rest = append([]string{moreText(left, v.Page)}, rest...)
	}
	b.WriteString(joinMore(rest, term.Width))
	fmt.Fprintln(&b, paint(verdict, v.Result, term))
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	summaryLines    = 2 // lines for the scenarios
	sentenceLines   = 2 // lines for one sentence
	incompleteLines = 6 // lines for the reason why a trial did not complete
	fullRows        = 9 // first limit for the rows of a table that has to be shortened
	minSentences    = 1 // sentences that take precedence over the scorecard
)

// sentences returns the headlines and findings as lines, the reasons for not passing first.
func sentences(v *view.View, width int) (out []string) {
	var numbers, wrong, others []string
	for _, h := range v.Headlines {
		if !h.Tabled {
			numbers = append(numbers, h.String())
		}
	}
	first, rest := v.Ranked()
	for _, f := range slices.Concat(first, rest) {
		if f.Kind == view.Broken || f.Kind == view.Open || f.Kind == view.Doubt {
			lines := sentenceLines
			if f.Text == verdict.Completed {
				lines = incompleteLines
			}
			wrong = append(wrong, clip(wrap(f.String(), "  ", width), lines, width)+"\n")
		} else {
			others = append(others, f.String())
		}
	}
	for _, s := range slices.Concat(numbers, others) {
		out = append(out, clip(wrap(s, "  ", width), sentenceLines, width)+"\n")
	}
	return append(wrong, out...)
}

// brief returns the scenarios and the tables. If v.Screen is set, it drops rows to fit, but not of a matrix.
func brief(v *view.View, term Term, room int) string {
	for rows := math.MaxInt; ; rows = min(rows, fullRows) - 1 {
		var b strings.Builder
		fmt.Fprintln(&b, clip(wrap(v.Asked, "", term.Width), summaryLines, term.Width))
		for _, t := range v.Brief {
			if len(t.Marks) == 0 {
				t = t.Shortest(rows)
			}
			fmt.Fprintln(&b)
			writeTable(&b, t, term)
		}
		if s := b.String(); !v.Screen || rows <= 2 || term.lines(s) <= room {
			return s
		}
	}
}

// takeFitting returns the first sentences that fit into room lines, and the number of the others.
func (t Term) takeFitting(all []string, room int) (shown string, left int) {
	n := 0
	for ; n < len(all) && t.lines(shown+all[n]) <= room; n++ {
		shown += all[n]
	}
	return shown, len(all) - n
}

func moreText(n int, page string) string { return fmt.Sprintf("%d more in %s.", n, page) }

func joinMore(all []string, width int) string {
	if len(all) == 0 {
		return ""
	}
	return wrap(strings.Join(all, " "), "  ", width) + "\n"
}

func clip(s string, lines, width int) string {
	all := strings.Split(s, "\n")
	if len(all) <= lines {
		return s
	}
	last := units.Truncate(all[lines-1]+" "+strings.TrimSpace(all[lines]), width)
	return strings.Join(append(all[:lines-1:lines-1], last), "\n")
}

func (t Term) lines(s string) (n int) {
	for line := range strings.Lines(s) {
		n += max(1, (utf8.RuneCountInString(strings.TrimRight(line, "\n"))+t.Width-1)/t.Width)
	}
	return n
}

func writeStory(b *strings.Builder, s view.Story, width int) {
	fmt.Fprintln(b, wrap(s.Title, "", width))
	fmt.Fprintln(b, wrap("  Promise: "+s.Promise.Promise, "  ", width))
	fmt.Fprintln(b, wrap("  Here: "+s.Here, "  ", width))
	for _, f := range s.Says {
		fmt.Fprintln(b, wrap("  "+f.Name+": "+f.Value, "  ", width))
	}
	writeLanes(b, s.Chart, view.StoryMarks, width)
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
		fmt.Fprintln(b, wrap(head+what, strings.Repeat(" ", 26), width))
	}
	if s.More != "" {
		fmt.Fprintf(b, "  %s\n", s.More)
	}
	fmt.Fprintf(b, "  * proves the violation; all records: %s\n", s.Proof)
	if s.Again != "" {
		fmt.Fprintf(b, "  to run it again: %s\n", s.Again)
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

const noBreakSpace = "\u00a0"

// wrapPairs is like wrap for a legend with comma-separated pairs of a sign and its meaning. It
// breaks a pair only if it is longer than a line.
func wrapPairs(legend, indent string, width int) string {
	pairs := strings.Split(units.Clean(legend), ", ")
	for i, pair := range pairs {
		if len(indent)+utf8.RuneCountInString(pair) < width {
			pairs[i] = strings.ReplaceAll(pair, " ", noBreakSpace)
		}
	}
	return strings.ReplaceAll(wrap(strings.Join(pairs, ", "), indent, width), noBreakSpace, " ")
}
