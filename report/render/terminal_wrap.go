package render

import (
	"strings"
	"unicode/utf8"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

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
	return fill(strings.Split(units.Clean(s), " "), indent, width)
}

// wrapPairs is wrap for a legend, whose pairs of a sign and what it stands for have commas
// between them. It breaks a pair only where that is longer than a line.
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

// fill puts words into lines of at most width characters; every line but the first is
// indented.
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
