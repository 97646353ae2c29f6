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
