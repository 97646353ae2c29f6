package render

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

var _ = register(report.SummaryFile, Markdown)

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

// MarkdownTable writes a table with its legend.
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
