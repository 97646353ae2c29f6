package compare

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
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

// View is what there is to say about the comparison: a table a cell.
func (c Comparison) View() *view.View {
	v := &view.View{Name: "compare", Page: "compare.html", Asked: fmt.Sprintf("%s against %s.", about(c.New), about(c.Old)), Result: c.Result, Verdict: c.Sentence(), Figures: []*plot.Figure{c.figure()}}
	if v.Figures[0] == nil {
		v.Figures = nil
	}
	for _, u := range c.Unlike {
		v.Findings = append(v.Findings, view.Finding{Kind: view.Doubt, Text: "UNLIKE (--force): " + u})
	}
	for _, n := range c.Notes {
		v.Findings = append(v.Findings, view.Finding{Kind: view.Note, Text: n})
	}
	at := ""
	for i, r := range c.Rows {
		if i == 0 || r.Cell != at {
			at = r.Cell
			v.Tables = append(v.Tables, view.Table{Columns: columns(at)})
		}
		t := &v.Tables[len(v.Tables)-1]
		t.Rows = append(t.Rows, r.row())
	}
	v.Brief = v.Tables
	v.Sections = append(sections(v, "What changed"), view.Section{ID: "conditions", Title: "How they were measured", Blocks: []view.Block{{Facts: c.facts()}},
		Note: "Counts are held to each other exactly. What varies is compared by one value a trial, by its medians; p is the probability that two such runs differ by chance alone (Mann-Whitney U). " +
			"A/A is what the old run's odd trials differ from its even ones. What is shown only decides nothing."})
	return v
}

// sections are the parts of the page: the plots under a title, and the tables.
func sections(v *view.View, drawn string) (out []view.Section) {
	if len(v.Figures) > 0 {
		out = append(out, view.Section{ID: "drawn", Title: drawn, Blocks: []view.Block{{Figures: v.Figures}}})
	}
	numbers := view.Section{ID: "numbers", Title: "In numbers"}
	for i := range v.Tables {
		numbers.Blocks = append(numbers.Blocks, view.Block{Table: &v.Tables[i]})
	}
	return append(out, numbers)
}

// facts say where both runs come from.
func (c Comparison) facts() (out []view.Fact) {
	for _, r := range []struct {
		name string
		run  report.Run
	}{{"old", c.Old}, {"new", c.New}} {
		out = append(out, view.Fact{Name: r.name, Value: about(r.run)}, view.Fact{Name: r.name + ", repeat with", Value: cmp.Or(r.run.Command, "unknown")})
	}
	return append(out, view.Fact{Name: "let pass", Value: percent(c.Limit) + " slower"})
}

// columns are those of the table of a cell, which stands at their head.
func columns(cell string) []view.Column {
	number := func(head string, spare int) view.Column {
		return view.Column{Head: head, Kind: view.Number, Spare: spare}
	}
	return []view.Column{{Head: cell}, number("old", 0), number("new", 0), number("change", 0), number("95 %", 1), number("p", 2), number("A/A", 3), {Head: "result", Kind: view.Status}}
}

// row is the row in the table of its cell.
func (r Row) row() view.Row {
	status := r.Result
	switch {
	case r.Result == Worse && r.Decides:
		status = "WORSE"
	case !r.Decides:
		status = "(" + status + ", shown only)"
	}
	if r.Why != "" && r.Decides {
		status += ": " + r.Why
	}
	out := view.Row{Cells: []string{r.What, side(r.Old, r.Unit), side(r.New, r.Unit), r.delta(), r.span(), r.p(), r.noise(), status}}
	switch {
	case !r.Decides:
	case r.Result == Worse:
		out.Result = report.Fail
	case r.Result == Unknown:
		out.Result = report.Unknown
	}
	return out
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

func about(r report.Run) string {
	s := units.Clean(cmp.Or(r.ID, "a run"))
	if !r.Start.IsZero() {
		s += " (" + r.Start.UTC().Format("2006-01-02 15:04") + ")"
	}
	return s
}
