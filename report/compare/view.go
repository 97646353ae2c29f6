package compare

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// Sentence returns the result of the comparison as a sentence.
func (c Comparison) Sentence() string {
	switch c.Result {
	case report.Pass:
		return fmt.Sprintf("Not worse: no count increased, no guarantee was broken, and no deciding metric is more than %s worse.", percent(c.Limit))
	case report.Fail:
		return "Worse: " + c.listRows(Worse) + "."
	}
	s := "Unknown: " + cmp.Or(c.listRows(Unknown), "the runs have no deciding metric in common")
	if n := c.More(); n > 0 {
		s += fmt.Sprintf(". Run both again with --trials %d", n+c.trials())
	}
	return s + "."
}

func (c Comparison) trials() int {
	n := 0
	for _, r := range c.Rows {
		if r.Decides && r.P != nil {
			n = min(cmp.Or(n, r.Old.N), r.Old.N, r.New.N)
		}
	}
	return n
}

const nameLimit = 3

func (c Comparison) listRows(result string) string {
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

// View returns a view of the comparison, with a table per cell.
func (c Comparison) View() *view.View {
	v := &view.View{Name: "compare", Page: "compare.html", Description: fmt.Sprintf("%s against %s.", runLabel(c.New), runLabel(c.Old)), Result: c.Result, Verdict: c.Sentence()}
	for _, u := range c.Differences {
		v.Findings = append(v.Findings, view.Finding{Kind: view.Doubt, Text: "DIFFERENT CONDITIONS (--force): " + u})
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
	v.Sections = append(sections(v), view.Section{ID: "conditions", Title: "Conditions", Blocks: []view.Block{{Facts: c.facts()}},
		Note: "Counts with a formula are compared exactly. Other numbers are compared by their medians, with one value per trial; p is the probability that two equal runs differ this much by chance (Mann-Whitney U). " +
			"A/A is the difference between the odd and the even trials of the old run. Rows that are \"shown only\" do not affect the result."})
	return v
}

func sections(v *view.View) (out []view.Section) {
	if len(v.Figures) > 0 {
		out = append(out, view.Section{ID: "drawn", Title: "Trend", Blocks: []view.Block{{Figures: v.Figures}}})
	}
	numbers := view.Section{ID: "numbers", Title: "Numbers"}
	for i := range v.Tables {
		numbers.Blocks = append(numbers.Blocks, view.Block{Table: &v.Tables[i]})
	}
	return append(out, numbers)
}

func (c Comparison) facts() (out []view.Fact) {
	for i, r := range []report.Run{c.Old, c.New} {
		name := []string{"old", "new"}[i]
		out = append(out, view.Fact{Name: name, Value: runLabel(r)}, view.Fact{Name: name + ", repeat with", Value: cmp.Or(r.Command, "unknown")})
	}
	return append(out, view.Fact{Name: "accepted regression", Value: percent(c.Limit)})
}

func columns(cell string) []view.Column {
	number := func(head string, spare int) view.Column {
		return view.Column{Head: head, Kind: view.Number, DropOrder: spare}
	}
	return []view.Column{{Head: cell}, number("old", 0), number("new", 0), number("change", 0), number("95 %", 1), number("p", 2), number("A/A", 3), {Head: "result", Kind: view.Status}}
}

func (r Row) row() view.Row {
	status, result, noise := r.Result, "", ""
	switch {
	case !r.Decides:
		status = "(" + status + ", shown only)"
	case r.Result == Worse:
		status, result = "WORSE", report.Fail
	case r.Result == Unknown:
		result = report.Unknown
	}
	if r.Why != "" && r.Decides {
		status += ": " + r.Why
	}
	if r.Noise != nil {
		noise = change(*r.Noise)
	}
	return view.Row{
		Cells:  []string{r.What, side(r.Old, r.Unit), side(r.New, r.Unit), r.delta(), r.span(), r.p(), noise, status},
		Result: result,
	}
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

// change formats a factor as a change: "+9.8 %".
func change(factor float64) string {
	p := math.Round((factor-1)*1000) / 10
	if p == 0 {
		return "0 %"
	}
	return fmt.Sprintf("%+.1f %%", p)
}

func runLabel(r report.Run) string {
	s := units.Clean(cmp.Or(r.ID, "a run"))
	if !r.Start.IsZero() {
		s += " (" + r.Start.UTC().Format("2006-01-02 15:04") + ")"
	}
	return s
}
