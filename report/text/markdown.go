package text

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// Markdown writes summary.md: short enough for a comment on a pull request.
func Markdown(w io.Writer, r report.Result) error {
	var b strings.Builder
	a := Answers(r)
	fmt.Fprintf(&b, "### %s zkbench %s\n\n%s\n\n**%s**\n\n", mark(a.Result), units.Markdown(r.Run.Scenario), units.Markdown(a.Asked), units.Markdown(a.Verdict))
	for _, s := range append(slices.Clone(a.Found), a.Doubts...) {
		fmt.Fprintf(&b, "- %s\n", units.Markdown(s))
	}
	for _, s := range matrix.Of(r.Trials) {
		fmt.Fprintln(&b)
		if zoo(s) {
			markdownZoo(&b, r.Trials, s.Name)
			continue
		}
		markdownTable(&b, inOrder(s))
	}
	markdownFindings(&b, r.Trials)
	fmt.Fprintf(&b, "\nSeed %d, %s. Repeat with %s.\n", r.Run.Seed, units.Markdown(versions(r.Run)), code(r.Run.Command))
	_, err := io.WriteString(w, b.String())
	return err
}

func mark(result string) string {
	switch result {
	case report.Pass:
		return "✅"
	case report.Fail:
		return "❌"
	}
	return "❔"
}

func markdownTable(b *strings.Builder, trials []report.Trial) {
	cols := Columns(trials)
	for _, c := range cols {
		fmt.Fprintf(b, "| %s ", units.Markdown(c.Head))
	}
	fmt.Fprint(b, "|\n")
	for _, c := range cols {
		if c.Right {
			fmt.Fprint(b, "|---:")
		} else {
			fmt.Fprint(b, "|---")
		}
	}
	fmt.Fprint(b, "|\n")
	for _, t := range trials {
		for _, c := range cols {
			fmt.Fprintf(b, "| %s ", units.Markdown(c.Cell(t)))
		}
		fmt.Fprint(b, "|\n")
	}
}

// markdownReasons bounds the list, so that a comment stays a comment.
const markdownReasons = 20

func markdownFindings(b *strings.Builder, trials []report.Trial) {
	all := append(findings(trials, true), findings(trials, false)...)
	if len(all) == 0 {
		return
	}
	fmt.Fprint(b, "\n<details><summary>What did not pass, and why</summary>\n\n")
	for i, f := range all {
		if i == markdownReasons {
			fmt.Fprintf(b, "- and %d more, in the report\n", len(all)-i)
			break
		}
		fmt.Fprintf(b, "- **%s**, %s: %s\n", units.Markdown(f.what), units.Markdown(f.where), units.Markdown(units.Short(f.reason, 300)))
	}
	fmt.Fprint(b, "\n</details>\n")
}

// versions lists what the run was made of, by name.
func versions(run report.Run) string {
	var parts []string
	for _, k := range Keys(run.Versions) {
		parts = append(parts, Version(k, run.Versions[k]))
	}
	if len(parts) == 0 {
		return "versions unknown"
	}
	return strings.Join(parts, ", ")
}

// Version names a version: "zookeeper 3.8.0", and "go1.26" where it names itself.
func Version(name, v string) string {
	if strings.HasPrefix(v, name) {
		return units.Clean(v)
	}
	return units.Clean(name + " " + v)
}

// Keys returns the keys of a map in order.
func Keys[V any](m map[string]V) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

// code writes an inline code span around text that may hold backquotes.
func code(s string) string {
	s = units.Clean(s)
	fence := "`"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	if fence == "`" {
		return fence + s + fence
	}
	return fence + " " + s + " " + fence
}
