package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios"
)

// listGuarantees lists what histories are judged by.
func listGuarantees(w io.Writer) error {
	for _, g := range verdict.All() {
		fmt.Fprintf(w, "  %s (rule %d; of a %s)\n", g.Name, g.Rule, strings.Join(g.Concerns, ", "))
		fmt.Fprintf(w, "    promise: %s\n    broken:  %s\n", g.Promise, g.Harm)
	}
	return nil
}

// listMetrics lists what is measured.
func listMetrics(w io.Writer) error {
	better := map[metrics.Direction]string{metrics.Lower: "lower is better", metrics.Higher: "higher is better"}
	for _, d := range metrics.All() {
		about := []string{d.Unit}
		if d.Distribution {
			about = append(about, "a distribution")
		}
		if b := better[d.Better]; b != "" {
			about = append(about, b)
		}
		fmt.Fprintf(w, "  %s (%s)\n    %s\n", d.Name, strings.Join(about, "; "), d.Help)
	}
	return nil
}

// Marks in the help pages that stand for what is registered.
const (
	guaranteesMark = "{{guarantees}}\n"
	metricsMark    = "{{metrics}}\n"
	phasesMark     = "{{phases}}\n"
)

// withRegistered puts what is registered into a help page.
func withRegistered(page string) string {
	var guarantees, measured strings.Builder
	for _, g := range verdict.All() {
		guarantees.WriteString(entry(g.Name, g.Help))
	}
	for i, f := range metrics.Families() {
		if f.About != "" && i > 0 {
			measured.WriteString("\n")
		}
		if f.About != "" {
			measured.WriteString(f.About + "\n\n")
		}
		for _, d := range f.Definitions {
			name := d.Name
			if d.PerPhase {
				name += "[.PHASE]"
			}
			measured.WriteString(entry(name, d.Help))
		}
	}
	return strings.NewReplacer(guaranteesMark, guarantees.String(), metricsMark, measured.String(), phasesMark, scenarios.Kinds()).Replace(page)
}

// entry is a name, and what it is about in a column beside it.
func entry(name, about string) string {
	const column, width = 26, 96
	line := fmt.Sprintf("  %-*s", column-2, name)
	if len(name) > column-4 {
		line = "  " + name + "\n" + strings.Repeat(" ", column)
	}
	out, used := line, column
	for i, word := range strings.Fields(about) {
		if i > 0 && used+1+len(word) > width {
			out += "\n" + strings.Repeat(" ", column)
			used = column
		} else if i > 0 {
			out += " "
			used++
		}
		out += word
		used += len(word)
	}
	return out + "\n"
}
