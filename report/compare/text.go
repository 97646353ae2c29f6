package compare

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// Sentence says what the comparison came to.
func (c Comparison) Sentence() string {
	switch c.Result {
	case report.Pass:
		return fmt.Sprintf("Not worse: no count grew, no guarantee broke, and nothing that decides is more than %s slower.", percent(c.Limit))
	case report.Fail:
		return "Worse: " + c.name(Worse) + "."
	}
	s := "Cannot be judged"
	if name := c.name(Unknown); name != "" {
		s += ": " + name
	} else {
		s += ": the runs have nothing in common that decides"
	}
	if n := c.More(); n > 0 {
		s += fmt.Sprintf(". Run both again with --trials %d", n+c.trials())
	}
	return s + "."
}

// trials is how many trials of each the comparison has at least.
func (c Comparison) trials() int {
	n := math.MaxInt
	for _, r := range c.Rows {
		if r.Decides && r.P != nil {
			n = min(n, r.Old.N, r.New.N)
		}
	}
	if n == math.MaxInt {
		return 0
	}
	return n
}

// nameLimit bounds how many rows a sentence names.
const nameLimit = 3

func (c Comparison) name(result string) string {
	var parts []string
	hidden := 0
	for _, r := range c.Rows {
		if !r.Decides || r.Result != result {
			continue
		}
		if len(parts) == nameLimit {
			hidden++
			continue
		}
		s := units.Clean(r.What + " of " + r.Cell)
		if d := r.delta(); d != "" && result == Worse {
			s += " by " + d
		}
		if r.Why != "" {
			s += " (" + r.Why + ")"
		}
		parts = append(parts, s)
	}
	if hidden > 0 {
		parts = append(parts, fmt.Sprintf("%d more", hidden))
	}
	return strings.Join(parts, "; ")
}

// Columns of the table, in order.
var heads = []string{"", "old", "new", "change", "95 %", "p", "A/A", "result"}

// cells writes a row of the table.
func (r Row) cells() []string {
	mark := r.Result
	switch {
	case r.Result == Worse && r.Decides:
		mark = "WORSE"
	case !r.Decides:
		mark = "(" + mark + ", shown only)"
	}
	if r.Why != "" && r.Decides {
		mark += ": " + r.Why
	}
	return []string{units.Clean(r.What), side(r.Old, r.Unit), side(r.New, r.Unit), r.delta(), r.span(), r.p(), r.noise(), mark}
}

func side(s Side, unit string) string {
	if unit == "" {
		return ""
	}
	return units.Quantity(s.Center, unit)
}

func (r Row) delta() string {
	if r.Ratio == nil {
		return ""
	}
	return change(r.Ratio.Center)
}

func (r Row) span() string {
	if r.Ratio == nil || r.Ratio.Low == nil {
		return ""
	}
	return change(*r.Ratio.Low) + " to " + change(*r.Ratio.High)
}

// p writes the probability and the number of trials behind it.
func (r Row) p() string {
	if r.P == nil {
		return ""
	}
	n := strconv.Itoa(r.Old.N)
	if r.Old.N != r.New.N {
		n += "+" + strconv.Itoa(r.New.N)
	}
	p := strconv.FormatFloat(*r.P, 'f', 3, 64)
	if *r.P < 0.001 {
		p = "<0.001"
	}
	return p + " n=" + n
}

func (r Row) noise() string {
	if r.Noise == nil {
		return ""
	}
	return change(*r.Noise)
}

// change writes a factor as a change: "+9.8 %".
func change(factor float64) string {
	p := math.Round((factor-1)*1000) / 10
	if p == 0 {
		return "0 %"
	}
	s := strconv.FormatFloat(p, 'f', 1, 64) + " %"
	if p > 0 {
		s = "+" + s
	}
	return s
}

// Table writes the comparison for a person at a terminal.
func (c Comparison) Table(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s against %s\n", about(c.New), about(c.Old))
	for _, u := range c.Unlike {
		fmt.Fprintf(&b, "UNLIKE (--force): %s\n", units.Clean(u))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "%s\n", units.Clean(n))
	}
	tw := tabwriter.NewWriter(&b, 0, 8, 2, ' ', 0)
	at := ""
	for _, r := range c.Rows {
		if r.Cell != at {
			fmt.Fprintf(tw, "\n%s\n", strings.Join(append([]string{units.Clean(r.Cell)}, heads[1:]...), "\t"))
			at = r.Cell
		}
		fmt.Fprintf(tw, "  %s\n", strings.Join(r.cells(), "\t"))
	}
	if err := tw.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%s\n", c.Sentence())
	var out strings.Builder
	for _, line := range strings.Split(b.String(), "\n") {
		out.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	_, err := io.WriteString(w, strings.TrimSuffix(out.String(), "\n"))
	return err
}

func about(r report.Run) string {
	s := units.Clean(cmp.Or(r.ID, "a run"))
	if !r.Start.IsZero() {
		s += " (" + r.Start.UTC().Format("2006-01-02 15:04") + ")"
	}
	return s
}

// Markdown writes the comparison for a comment on a pull request.
func (c Comparison) Markdown(w io.Writer) error {
	var b strings.Builder
	mark := map[string]string{report.Pass: "✅", report.Fail: "❌"}[c.Result]
	fmt.Fprintf(&b, "### %s zkbench compare\n\n**%s**\n\n%s against %s.\n", cmp.Or(mark, "❔"), units.Markdown(c.Sentence()), units.Markdown(about(c.New)), units.Markdown(about(c.Old)))
	for _, u := range c.Unlike {
		fmt.Fprintf(&b, "- unlike, compared by force: %s\n", units.Markdown(u))
	}
	for _, n := range c.Notes {
		fmt.Fprintf(&b, "- %s\n", units.Markdown(n))
	}
	at := ""
	for _, r := range c.Rows {
		if r.Cell != at {
			fmt.Fprintf(&b, "\n| %s | %s |\n|---|---:|---:|---:|---:|---:|---:|---|\n", units.Markdown(r.Cell), strings.Join(heads[1:], " | "))
			at = r.Cell
		}
		cells := r.cells()
		for i := range cells {
			cells[i] = units.Markdown(cells[i])
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
