// Package units formats quantities for readers: 31200000 ns becomes "31.2 ms".
//
// All output for readers (plots, pages, tables, sentences) uses this package, so that a number looks
// the same everywhere.
package units

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Duration formats nanoseconds with three significant digits and a suitable unit: "940 µs", "31.2
// ms", "5.20 s", "2 min 5 s".
func Duration(ns float64) string {
	abs := math.Abs(ns)
	switch {
	case math.IsNaN(ns) || math.IsInf(ns, 0):
		return "unknown"
	case abs == 0:
		return "0 s"
	case round3(abs) < 1e3:
		return digits(ns) + " ns"
	case round3(abs) < 1e6:
		return digits(ns/1e3) + " µs"
	case round3(abs) < 1e9:
		return digits(ns/1e6) + " ms"
	case round3(abs) < 120e9:
		return digits(ns/1e9) + " s"
	}
	whole := time.Duration(ns).Round(time.Second)
	minutes, seconds := int64(whole/time.Minute), int64(whole%time.Minute/time.Second)
	if seconds < 0 {
		seconds = -seconds
	}
	return strconv.FormatInt(minutes, 10) + " min " + strconv.FormatInt(seconds, 10) + " s"
}

// Tick formats nanoseconds for the ticks of an axis, without trailing zeros: "10 ms".
func Tick(ns float64) string {
	number, unit, _ := strings.Cut(Duration(ns), " ")
	return strings.TrimRight(trim(number)+" "+unit, " ")
}

// TickNumber formats a number for the ticks of an axis: "0.5", "20".
func TickNumber(v float64) string { return trim(Number(v)) }

func trim(number string) string {
	if strings.Contains(number, ".") && !strings.Contains(number, "e") {
		number = strings.TrimRight(strings.TrimRight(number, "0"), ".")
	}
	return number
}

// Quantity formats a value in the unit of a report.Metric: "ns", "1/handoff", "1/s", "B/handoff".
// It appends an unknown unit unchanged.
func Quantity(v float64, unit string) string {
	count, per, rate := strings.Cut(unit, "/")
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "unknown"
	case unit == "ns":
		return Duration(v)
	case unit == "" || unit == "1":
		return Number(v)
	case !rate:
		return Number(v) + " " + unit
	case count == "1":
		return Number(v) + "/" + per
	case count == "B" && math.Abs(v) >= 1e6:
		return digits(v/1e6) + " MB/" + per
	case count == "B" && math.Abs(v) >= 1e4:
		return digits(v/1e3) + " kB/" + per
	}
	return Number(v) + " " + unit
}

// Number formats a number: integers with all digits, in groups separated by narrow spaces ("76 011"),
// other numbers with three significant digits.
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "unknown"
	}
	if v == math.Trunc(v) || math.Abs(v) >= 1000 {
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	}
	if math.Abs(v) < 0.001 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return digits(v)
}

var longTime = regexp.MustCompile(`(\d+h)?(\d+m)?\d+\.\d{4,}(s|ms)`)

// RoundTimes rounds all durations in Go's format that s contains: to microseconds, and from ten seconds on
// to milliseconds.
func RoundTimes(s string) string {
	return longTime.ReplaceAllStringFunc(s, func(m string) string {
		d, err := time.ParseDuration(m)
		if err != nil {
			return m
		}
		if d < 10*time.Second {
			return d.Round(time.Microsecond).String()
		}
		return d.Round(time.Millisecond).String()
	})
}

var (
	nodePath  = regexp.MustCompile(`(^|[ (])/[^\s,;:()]+/([^\s,;:()/]+)`)
	longToken = regexp.MustCompile(`\btoken (\d{10,18})\b`)
)

// ShortenReason shortens a reason. It keeps only the last element of a node's path, which distinguishes the
// nodes of one line, formats tokens as zxids, and rounds times. "token 4294967302 by node
// /zkbench-1f/herd/line/ac-n-0000000001" becomes "token 0x100000006 by node ac-n-0000000001".
func ShortenReason(s string) string {
	s = nodePath.ReplaceAllString(Clean(s), "$1$2")
	s = longToken.ReplaceAllStringFunc(s, func(m string) string {
		n, _ := strconv.ParseInt(strings.TrimPrefix(m, "token "), 10, 64) // 18 digits always fit
		return "token " + Zxid(n)
	})
	return RoundTimes(s)
}

// Zxid formats a zxid, or a token that equals a zxid, in hexadecimal as ZooKeeper does. A token below
// 2^32 is not a zxid and is formatted in decimal.
func Zxid(v int64) string {
	if v >= 1<<32 {
		return "0x" + strconv.FormatInt(v, 16)
	}
	return strconv.FormatInt(v, 10)
}

// Plural returns a count and its noun: "1 verdict", "18 verdicts".
func Plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return group(strconv.Itoa(n)) + " " + noun
}

// Clean returns the text in a form that is safe to print and to embed in XML or a table: white space
// becomes a space, and control characters, direction overrides and invalid UTF-8 become U+FFFD.
func Clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case r < 0x20 || (r >= 0x7f && r < 0xa0) || r == 0xfffe || r == 0xffff:
			return '\uFFFD'
		case r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069: // direction overrides
			return '\uFFFD'
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Truncate truncates s to at most limit characters, the last of which is then "…". It truncates a sentence
// after a word if a word ends near the limit.
func Truncate(s string, limit int) string {
	r := []rune(s)
	if len(r) <= limit {
		return s
	}
	cut := string(r[:max(limit-1, 0)])
	const sentence, near = 60, 12 // bytes
	if i := strings.LastIndexByte(cut, ' '); limit >= sentence && i >= len(cut)-near {
		cut = cut[:i]
	}
	return cut + "…"
}

func digits(v float64) string {
	abs := math.Abs(round3(v))
	switch {
	case abs >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case abs >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case abs >= 0.1:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// round3 rounds to three significant digits, so that 999.9 µs becomes 1 ms.
func round3(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// group separates thousands with a narrow no-break space if the number has at least five digits.
func group(s string) string {
	sign := ""
	if strings.HasPrefix(s, "-") {
		sign, s = "-", s[1:]
	}
	if len(s) < 5 {
		return sign + s
	}
	var b strings.Builder
	for i, r := range s {
		if i > 0 && (len(s)-i)%3 == 0 {
			b.WriteRune('\u202f')
		}
		b.WriteRune(r)
	}
	return sign + b.String()
}

// Markdown escapes text for a table or a paragraph of Markdown, so that it is not interpreted as markup,
// as HTML, or as the mention of a person or an issue.
func Markdown(s string) string { return markdown.Replace(Clean(s)) }

var markdown = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "*", "\\*", "_", "\\_",
	"`", "\\`", "[", "\\[", "]", "\\]", "@", "&#64;", "#", "\\#")

// List joins the parts: "a, b and c".
func List(parts []string) string {
	if len(parts) < 2 {
		return strings.Join(parts, "")
	}
	last := len(parts) - 1
	return strings.Join(parts[:last], ", ") + " and " + parts[last]
}

// Names returns the result of name for each value.
func Names[T any](all []T, name func(T) string) []string {
	out := make([]string, len(all))
	for i, x := range all {
		out[i] = name(x)
	}
	return out
}

// Capital returns s with a capitalized first letter.
func Capital(s string) string {
	r := []rune(s)
	if len(r) > 0 {
		r[0] = unicode.ToUpper(r[0])
	}
	return string(r)
}

// Moment formats a time on the trial's clock: "0.200 s".
func Moment(t time.Duration) string { return strconv.FormatFloat(t.Seconds(), 'f', 3, 64) + " s" }

// maxListed is the maximum number of names that Nearest lists: a longer list would hide the error.
const maxListed = 30

// Nearest returns the end of an error message about an unknown name: `; did you mean "x"?` with the
// closest of names, or else a list of names if there are few; otherwise "".
func Nearest(name string, names []string) string {
	switch best := Closest(name, names); {
	case best != "":
		return fmt.Sprintf("; did you mean %q?", best)
	case len(names) > maxListed:
		return ""
	}
	return "; known: " + strings.Join(names, ", ")
}

// edits returns the number of letters to insert, delete, replace or swap with their neighbor that turn
// a into b (optimal string alignment distance).
func edits(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
		for j := 1; j <= len(b); j++ {
			if i == 0 {
				rows[i][j] = j
				continue
			}
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}

// Closest returns the closest of names: the name that differs least, by at most two letters or a third
// of a long name, or else the first that ends in /NAME or .NAME. It returns "" if no name is close.
func Closest(name string, names []string) string {
	letters := len(strings.TrimLeft(name, "-"))
	best, distance := "", 1+max(min(2, letters/2), letters/3)
	for _, n := range names {
		if d := edits(name, n); d < distance {
			best, distance = n, d
		}
	}
	for _, n := range names {
		if best == "" && name != "" && (strings.HasSuffix(n, "/"+name) || strings.HasSuffix(n, "."+name)) {
			return n
		}
	}
	return best
}

// Wrap breaks text at spaces into lines of at most width characters, and indents all but the first.
func Wrap(s, indent string, width int) string {
	var b strings.Builder
	used := 0
	for i, word := range strings.Split(Clean(s), " ") {
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

// Identifier replaces all characters except letters, digits, dots and underscores, for file names and links.
func Identifier(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, s)
}
