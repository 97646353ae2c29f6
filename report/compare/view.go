package compare

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
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
	number := view.NumberColumn
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

// Trend returns a view of several runs by start time: a plot per measure, with a line per cell and a
// point per run, and the numbers as tables. If measures is nil, the plots show
// the measures of a comparison, and the tables only its deciding measures. The view has no result.
func Trend(runs []report.Result, measures []report.Measure) *view.View {
	runs = byStart(runs)
	v := &view.View{Name: "trend", Page: "trend.html", Verdict: "A trend has no verdict: zkbench compare reports whether one run is worse than another.",
		Description: units.Plural(len(runs), "run") + " by start time."}
	for _, why := range changedConditions(runs) {
		v.Findings = append(v.Findings, view.Finding{Kind: view.Doubt, Text: why})
	}
	v.Figures = trendFigures(runs, measures)
	if measures == nil {
		measures = decidingMeasures()
	}
	v.Findings = append(v.Findings, changeFindings(runs, measures)...)
	v.Tables = measureTables(runs, measures)
	v.Brief = v.Tables
	v.Sections = sections(v)
	return v
}

// changeAlpha is the accepted probability of finding a change in a series that has none.
const changeAlpha = 0.01

const changesShown = 20

func changeFindings(runs []report.Result, measures []report.Measure) (out []view.Finding) {
	for _, m := range measures {
		all, unit := lines(runs, m)
		for _, l := range all {
			medians := make([]float64, len(l.Points))
			for i, p := range l.Points {
				medians[i] = p.Median
			}
			at := stats.ChangePoints(medians, changeAlpha)
			for i, k := range at {
				from, to := 0, len(medians)
				if i > 0 {
					from = at[i-1]
				}
				if i+1 < len(at) {
					to = at[i+1]
				}
				out = append(out, view.Finding{Kind: view.Note, Text: fmt.Sprintf("%s of %s changed with the run of %s: median %s in the %s before it, %s in the %s since.",
					m, l.Label, l.Points[k].At.UTC().Format("2006-01-02 15:04"), units.Quantity(stats.Median(medians[from:k]).Center, unit), units.Plural(k-from, "run"),
					units.Quantity(stats.Median(medians[k:to]).Center, unit), units.Plural(to-k, "run"))})
			}
		}
	}
	if n := len(out) - changesShown; n > 0 {
		out = append(out[:changesShown], view.Finding{Kind: view.Note, Text: units.Plural(n, "further change") + " not listed."})
	}
	return out
}

// TrendCSV returns the medians as CSV for Apache Otava, with a row for each run. The columns are time (the
// start of the run), run (its ID), and one column for each measure of each cell.
func TrendCSV(runs []report.Result, measures []report.Measure) string {
	if measures == nil {
		measures = decidingMeasures()
	}
	runs = byStart(runs)
	rows := make([][]string, len(runs)+1)
	rows[0] = []string{"time", "run"}
	for i, r := range runs {
		rows[i+1] = []string{r.Run.Start.UTC().Format(time.RFC3339), r.Run.ID}
	}
	exact := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for _, m := range measures {
		all, _ := lines(runs, m)
		for _, l := range all {
			rows[0] = append(rows[0], m.String()+" of "+l.Label)
			for i, text := range valuesByRun(runs, l, exact) {
				rows[i+1] = append(rows[i+1], text)
			}
		}
	}
	var b strings.Builder
	_ = csv.NewWriter(&b).WriteAll(rows) // writing to a strings.Builder cannot fail
	return b.String()
}

func trendFigures(runs []report.Result, measures []report.Measure) []*plot.Figure {
	if measures == nil {
		measures = append(shownMeasures(), report.Measure{Metric: metrics.FanoutNotifications, Field: "value"})
	}
	var out []*plot.Figure
	for _, m := range measures {
		lines, unit := lines(runs, m)
		labels := units.Names(lines, func(l plot.Line) string { return l.Label })
		if f := plot.Trend(m.String(), m.String(), unit, lines, plot.NewGlyphs(labels)); f != nil {
			out = append(out, f)
		}
	}
	return out
}

func byStart(runs []report.Result) []report.Result {
	runs = slices.Clone(runs)
	slices.SortStableFunc(runs, func(a, b report.Result) int {
		return cmp.Or(a.Run.Start.Compare(b.Run.Start), cmp.Compare(a.Run.ID, b.Run.ID))
	})
	return runs
}

// changedConditions lists the runs whose conditions differ from the conditions of the previous run. At
// such a run, a change of the numbers may not be due to the subject.
func changedConditions(runs []report.Result) (out []string) {
	for i := range runs[1:] {
		for _, why := range IncomparableReasons(runs[i], runs[i+1]) {
			out = append(out, fmt.Sprintf("the conditions of %s differ from the previous run: %s", units.Clean(runs[i+1].Run.ID), units.Clean(why)))
		}
	}
	return out
}

func lines(runs []report.Result, m report.Measure) (out []plot.Line, unitName string) {
	at := map[string]*plot.Line{}
	for _, r := range runs {
		for k, c := range cells(r.Trials) {
			v := values(c.trials, m)
			if len(v) == 0 {
				continue
			}
			unitName = unit(c.trials, m)
			if at[k] == nil {
				at[k] = &plot.Line{Label: c.name}
			}
			i := stats.Median(v)
			p := plot.Point{At: r.Run.Start, Median: i.Center}
			if i.Low != nil {
				p.Low, p.High = *i.Low, *i.High
			}
			at[k].Points = append(at[k].Points, p)
		}
	}
	for _, k := range slices.Sorted(maps.Keys(at)) {
		out = append(out, *at[k])
	}
	return out, unitName
}

// measureTables returns a table per measure, with a row per cell and a column per run. If the output is too
// narrow, the oldest runs are omitted.
func measureTables(runs []report.Result, measures []report.Measure) (out []view.Table) {
	for _, m := range measures {
		lines, unit := lines(runs, m)
		if len(lines) == 0 {
			continue
		}
		t := view.Table{Columns: []view.Column{{Head: m.String()}}}
		for i, r := range runs {
			t.Columns = append(t.Columns, view.Column{Head: r.Run.Start.UTC().Format("01-02 15:04"), Kind: view.Number, DropOrder: len(runs) - i})
		}
		for _, l := range lines {
			values := valuesByRun(runs, l, func(v float64) string { return units.Quantity(v, unit) })
			t.Rows = append(t.Rows, view.Row{Cells: append([]string{l.Label}, values...)})
		}
		out = append(out, t)
	}
	return out
}

// valuesByRun returns the line's formatted value in each run; "" for runs without a value.
func valuesByRun(runs []report.Result, l plot.Line, format func(float64) string) []string {
	out := make([]string, len(runs))
	left := l.Points // in the order of the runs
	for i, r := range runs {
		if len(left) > 0 && left[0].At.Equal(r.Run.Start) {
			out[i], left = format(left[0].Median), left[1:]
		}
	}
	return out
}
