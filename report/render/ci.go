package render

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// The parts of a JUnit file that all CI systems support.
type (
	junitRun struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Time   string       `xml:"time,attr"`
		Suites []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string `xml:"name,attr"`
		Timestamp string `xml:"timestamp,attr,omitempty"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCounts struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Errors   int `xml:"errors,attr"`
		Skipped  int `xml:"skipped,attr"`
	}
	junitCase struct {
		Class   string     `xml:"classname,attr"`
		Name    string     `xml:"name,attr"`
		Failure *junitText `xml:"failure"`
		Error   *junitText `xml:"error"`
		Skipped *junitText `xml:"skipped"`
	}
	junitText struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// junit writes a suite for each cell, with a case for each check. A broken check is a failure. An
// unknown check is an error, not skipped, because CI systems show skipped cases in green, and
// unknown never counts as pass. Faults that this machine cannot inject, and guarantees that are
// not promised or not exercised, are skipped.
func junit(w io.Writer, v *view.View) error {
	out := junitRun{Name: "zkbench " + units.Clean(v.Name), Time: fmt.Sprintf("%.3f", v.Run.Elapsed.Seconds())}
	for _, suite := range v.Suites {
		s := junitSuite{Name: units.Clean(suite.Name)}
		if !v.Run.Start.IsZero() {
			s.Timestamp = v.Run.Start.UTC().Format("2006-01-02T15:04:05")
		}
		for _, c := range suite.Checks {
			k := junitCaseOf(suite.Class, c)
			s.Cases = append(s.Cases, k)
			s.count(k)
			out.count(k)
		}
		out.Suites = append(out.Suites, s)
	}
	body, err := xml.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("%s: %w", report.JUnitFile, err)
	}
	_, err = fmt.Fprintf(w, "%s%s\n", xml.Header, body)
	return err
}

func junitCaseOf(class string, c view.Check) junitCase {
	k := junitCase{Class: strings.ReplaceAll(units.Clean(class), " ", "_"), Name: units.Clean(c.What)}
	text := newJUnitText(strings.Join(c.Reasons, "\n"))
	switch c.Result {
	case report.Pass:
	case report.Fail:
		k.Failure = text
	case view.Skipped:
		k.Skipped = text
	case report.NotPromised, report.NotJudged:
		k.Skipped = newJUnitText(c.Result + ": " + strings.Join(c.Reasons, "\n"))
	default:
		k.Error = newJUnitText(c.Result + ": " + strings.Join(c.Reasons, "\n"))
	}
	return k
}

func newJUnitText(s string) *junitText {
	lines := units.Names(strings.Split(s, "\n"), units.Clean)
	return &junitText{Message: units.Truncate(lines[0], 200), Text: strings.Join(lines, "\n")}
}

func (n *junitCounts) count(k junitCase) {
	n.Tests++
	switch {
	case k.Failure != nil:
		n.Failures++
	case k.Error != nil:
		n.Errors++
	case k.Skipped != nil:
		n.Skipped++
	}
}

// annotationLimit is the largest number of annotations of a kind: GitHub shows ten.
const annotationLimit = 10

// Annotations returns GitHub workflow commands: an error for each broken check, a warning for each unknown one.
func Annotations(v *view.View) []string {
	data := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	property := strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
	var out []string
	for _, kind := range []struct {
		name string
		of   view.Kind
	}{{"error", view.Broken}, {"warning", view.Undecided}, {"warning", view.Doubt}} {
		all := v.FindingsOf(kind.of)
		for _, f := range all[:min(len(all), annotationLimit)] {
			f.Why = units.Truncate(units.Clean(f.Why), 300)
			out = append(out, fmt.Sprintf("::%s title=%s::%s", kind.name, property.Replace("zkbench "+units.Clean(v.Name)), data.Replace(units.Clean(f.String()))))
		}
	}
	return out
}

const markdownReasons = 20

// Markdown writes a summary for a comment on a pull request.
func Markdown(w io.Writer, v *view.View) error {
	var b strings.Builder
	mark := cmp.Or(map[string]string{report.Pass: "✅", report.Fail: "❌"}[v.Result], "❔")
	fmt.Fprintf(&b, "### %s zkbench %s\n\n%s\n\n**%s**\n", mark, units.Markdown(v.Name), units.Markdown(v.Description), units.Markdown(v.Verdict))
	for i, f := range v.FindingsOf(view.Measurement, view.Doubt, view.Note) {
		if i == 0 {
			fmt.Fprintln(&b)
		}
		fmt.Fprintf(&b, "- %s\n", units.Markdown(f.String()))
	}
	for _, t := range v.Tables {
		MarkdownTable(&b, t)
	}
	if v.Scorecard != nil && len(v.Scorecard.Rows) > 1 {
		MarkdownTable(&b, *v.Scorecard)
	}
	if all := v.FindingsOf(view.Broken, view.Undecided); len(all) > 0 {
		fmt.Fprint(&b, "\n<details><summary>Failed and unknown guarantees, with reasons</summary>\n\n")
		for i, f := range all {
			if i == markdownReasons {
				fmt.Fprintf(&b, "- and %d more, in the report\n", len(all)-i)
				break
			}
			fmt.Fprintf(&b, "- **%s**, %s: %s\n", units.Markdown(f.Text), units.Markdown(f.Where()), units.Markdown(units.Truncate(f.Why, 300)))
		}
		fmt.Fprint(&b, "\n</details>\n")
	}
	if v.Run.Command != "" {
		fmt.Fprintf(&b, "\n%s To repeat the run:\n\n    %s\n", units.Markdown(v.Origin), units.Clean(v.Run.Command))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func MarkdownTable(b *strings.Builder, t view.Table) {
	line := func(cells []string) {
		for _, c := range cells {
			fmt.Fprintf(b, "| %s ", units.Markdown(c))
		}
		fmt.Fprint(b, "|\n")
	}
	t, legend := withShortHeads(t)
	var heads []string
	rule := ""
	for _, c := range t.Columns {
		heads, rule = append(heads, c.Head), rule+"|---"
		if c.Kind == view.Number {
			rule += ":"
		}
	}
	fmt.Fprintln(b)
	line(heads)
	fmt.Fprintf(b, "%s|\n", rule)
	for _, r := range t.Rows {
		line(r.Cells)
	}
	for _, s := range legend {
		fmt.Fprintf(b, "\n%s\n", units.Markdown(s))
	}
}
