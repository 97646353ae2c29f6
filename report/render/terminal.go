package render

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/report/view"
)

// Term says what the terminal can do.
type Term struct {
	Width int  // columns; 0 means 100
	Color bool // ANSI colours are understood
}

// screen is how many lines there are on a terminal's screen; the prompt takes one more.
const screen = 23

// Terminal writes for a person at a terminal: the stories that are asked for, then one screen
// with the verdict last, where the prompt is. What matters most stands on it; of what there
// is no room for it says how much there is, and where.
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
	said := sentences(v, term.Width)
	rest := v.More
	if n := len(said); n > 0 {
		rest = append([]string{moreSaid(n, v.Page)}, rest...) // as long as it gets
	}
	room := screen - term.lines(verdict+"\n") - term.lines(more(rest, term.Width)) - 1
	least := term.lines(strings.Join(said[:min(fewSaid, len(said))], ""))
	head := brief(v, term, room-least)
	var card strings.Builder
	if t := v.BriefScorecard(); t != nil {
		fmt.Fprintln(&card)
		writeTable(&card, *t, term)
	}
	if room-term.lines(head)-term.lines(card.String()) < least {
		card.Reset() // the tables say what was broken, too
	}
	head += card.String()
	shown, left := term.fitting(said, max(room-term.lines(head), least))
	b.WriteString(head + "\n" + shown)
	if rest = v.More; left > 0 {
		rest = append([]string{moreSaid(left, v.Page)}, rest...)
	}
	b.WriteString(more(rest, term.Width))
	fmt.Fprintln(&b, paint(verdict, v.Result, term))
	_, err := io.WriteString(w, b.String())
	return err
}

const (
	askedLines  = 2 // of what was asked
	saidLines   = 2 // of one sentence
	whyUnplayed = 6 // of why a trial was not played
	fullRows    = 9 // of a table that has to lose some, at first
	fewSaid     = 1 // sentence that is worth more than the scorecard
)

// sentences are what there is to say, what matters most first: of a run that did not pass
// that is why.
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
			lines := saidLines
			if f.Text == verdict.Played {
				lines = whyUnplayed
			}
			wrong = append(wrong, clip(wrap(f.String(), "  ", width), lines, width)+"\n")
		} else {
			others = append(others, f.String())
		}
	}
	for _, s := range slices.Concat(numbers, others) {
		out = append(out, clip(wrap(s, "  ", width), saidLines, width)+"\n")
	}
	return append(wrong, out...)
}

// brief is what was asked, and the tables that answer it. Where they are to fit on a screen
// and do not, they lose rows, but for a matrix, which is the answer.
func brief(v *view.View, term Term, room int) string {
	for rows := math.MaxInt; ; rows = min(rows, fullRows) - 1 {
		var b strings.Builder
		fmt.Fprintln(&b, clip(wrap(v.Asked, "", term.Width), askedLines, term.Width))
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

// fitting are the first sentences that fit into so many lines, and how many are left out.
func (t Term) fitting(all []string, room int) (shown string, left int) {
	n := 0
	for ; n < len(all) && t.lines(shown+all[n]) <= room; n++ {
		shown += all[n]
	}
	return shown, len(all) - n
}

func moreSaid(n int, page string) string { return fmt.Sprintf("%d more in %s.", n, page) }

// more says where the rest is.
func more(all []string, width int) string {
	if len(all) == 0 {
		return ""
	}
	return wrap(strings.Join(all, " "), "  ", width) + "\n"
}

// clip keeps the first lines.
func clip(s string, lines, width int) string {
	all := strings.Split(s, "\n")
	if len(all) <= lines {
		return s
	}
	last := units.Short(all[lines-1]+" "+strings.TrimSpace(all[lines]), width)
	return strings.Join(append(all[:lines-1:lines-1], last), "\n")
}

// lines counts the lines that a text takes on the screen.
func (t Term) lines(s string) (n int) {
	for line := range strings.Lines(s) {
		n += max(1, (utf8.RuneCountInString(strings.TrimRight(line, "\n"))+t.Width-1)/t.Width)
	}
	return n
}

// writeStory explains a failed verdict.
func writeStory(b *strings.Builder, s view.Story, width int) {
	fmt.Fprintln(b, wrap(s.Title, "", width))
	fmt.Fprintln(b, wrap("  The promise: "+s.Promise.Promise, "  ", width))
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
	fmt.Fprintf(b, "  * proves it; all records: %s\n", s.Proof)
	if s.Again != "" {
		fmt.Fprintf(b, "  to play it again: %s\n", s.Again)
	}
}
