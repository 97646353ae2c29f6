package explain

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report/units"
)

var marks = map[string]rune{Held: '█', Waited: '·', Fault: '╳'}

// Title says what was broken, by what.
func (s Story) Title() string {
	t := fmt.Sprintf("%s (rule %d) was broken by %s with %s", s.Guarantee, s.Promise.Rule, s.Label, units.Plural(s.Trial.Clients, "client"))
	if n := s.Trial.Repetition; n > 0 {
		t += fmt.Sprintf(" in trial %d", n)
	}
	return units.Clean(t)
}

// Text writes the story for a terminal of that many columns.
func (s Story) Text(w io.Writer, width int) error {
	width = max(width, 60)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", fold(s.Title(), "", width))
	fmt.Fprintf(&b, "%s\n", fold("The promise: "+s.Promise.Promise, "  ", width))
	if s.Promise.Harm != "" {
		fmt.Fprintf(&b, "%s\n", fold("When it is broken: "+s.Promise.Harm, "  ", width))
	}
	for _, r := range s.Reasons {
		fmt.Fprintf(&b, "%s\n", fold("Here: "+units.Clean(r), "  ", width))
	}
	s.draw(&b, width)
	for _, e := range s.Events {
		mark := " "
		if e.Proof {
			mark = "*"
		}
		fmt.Fprintf(&b, "%s\n", fold(fmt.Sprintf("%s %9s  %-9s %s (record %d)", mark, at(e.At), units.Clean(e.Who), units.Clean(e.What), e.Record), "                         ", width))
	}
	if s.LeftOut > 0 {
		fmt.Fprintf(&b, "  and %s more\n", units.Plural(s.LeftOut, "event"))
	}
	fmt.Fprintf(&b, "  * proves it; all records: zstdcat history/%s.jsonl.zst\n", units.Clean(s.Trial.Name))
	_, err := io.WriteString(w, b.String())
	return err
}

// draw writes the lanes.
func (s Story) draw(b *strings.Builder, width int) {
	const label = 12
	cols := width - label - 2
	if len(s.Lanes) == 0 || s.To <= s.From {
		return
	}
	from, to := at(s.From), at(s.To)
	fmt.Fprintf(b, "\n  %*s%s%s%s\n", label, "", from, strings.Repeat(" ", max(cols-len(from)-len(to), 1)), to)
	for _, l := range s.Lanes {
		row := []rune(strings.Repeat(" ", cols))
		for _, kind := range []string{Waited, Held, Fault} {
			for _, bar := range l.Bars {
				if bar.Kind != kind {
					continue
				}
				for i := s.column(bar.From, cols); i <= s.column(bar.To, cols); i++ {
					row[i] = marks[kind]
				}
			}
		}
		fmt.Fprintf(b, "  %-*s%s\n", label, units.Clean(l.Name), strings.TrimRight(string(row), " "))
	}
	fmt.Fprintf(b, "%s\n\n", fold("█ believes that it holds  · waits for an answer  ╳ a fault is in force", "  ", width))
}

func (s Story) column(t time.Duration, cols int) int {
	i := int(float64(t-s.From) / float64(s.To-s.From) * float64(cols-1))
	return min(max(i, 0), cols-1)
}

// fold breaks a line at spaces; what follows is indented.
func fold(line, indent string, width int) string {
	var b strings.Builder
	used := 0
	b.WriteString(indent[:min(2, len(indent))])
	for i, word := range strings.Split(line, " ") {
		n := utf8.RuneCountInString(word)
		if i > 0 && used+1+n > width-2 && word != "" {
			b.WriteString("\n" + indent)
			used = len(indent)
		} else if i > 0 {
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return b.String()
}
