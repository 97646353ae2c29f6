package compare

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/internal/stats"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/view"
)

// Trend returns a view of several runs by start time: a plot per measure, with a line per cell
// and a point per run, and the numbers as tables. If asked is nil, it plots the measures that a
// comparison shows, and tabulates the measures that decide. It has no result.
func Trend(runs []report.Result, asked []report.Measure) *view.View {
	runs = byStart(runs)
	v := &view.View{Name: "trend", Page: "trend.html", Verdict: "A trend has no verdict: zkbench compare reports whether one run is worse than another.",
		Asked: units.Plural(len(runs), "run") + " by start time."}
	for _, why := range changedConditions(runs) {
		v.Findings = append(v.Findings, view.Finding{Kind: view.Doubt, Text: why})
	}
	v.Figures, v.Tables = trends(runs, asked), numbers(runs, asked)
	v.Brief = v.Tables
	v.Sections = sections(v, "Trend")
	return v
}

func trends(runs []report.Result, asked []report.Measure) []*plot.Figure {
	if asked == nil {
		asked = append(shownMeasures(), report.Measure{Metric: metrics.FanoutNotifications, Field: "value"})
	}
	var out []*plot.Figure
	for _, m := range asked {
		lines, unit := lines(runs, m)
		if f := plot.Trend(m.String(), m.String(), unit, lines, glyphs(lines)); f != nil {
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

// changedConditions lists the runs whose conditions differ from the run before, where a change of the numbers
// may have other causes than the subject.
func changedConditions(runs []report.Result) (out []string) {
	for i := range runs[1:] {
		for _, why := range Unlike(runs[i], runs[i+1]) {
			out = append(out, fmt.Sprintf("%s has other conditions than the run before it: %s", units.Clean(runs[i+1].Run.ID), units.Clean(why)))
		}
	}
	return out
}

func glyphs(lines []plot.Line) plot.Glyphs {
	var labels []string
	for _, l := range lines {
		labels = append(labels, l.Label)
	}
	return plot.NewGlyphs(labels)
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
			p := plot.Point{At: r.Run.Start}
			i := stats.Median(v)
			if p.Median = i.Center; i.Low != nil {
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

// numbers returns a table per measure, with a row per cell and a column per run. Narrow output
// omits the oldest runs first.
func numbers(runs []report.Result, asked []report.Measure) (out []view.Table) {
	if asked == nil {
		asked = decidingMeasures()
	}
	for _, m := range asked {
		lines, unit := lines(runs, m)
		if len(lines) == 0 {
			continue
		}
		t := view.Table{Columns: []view.Column{{Head: m.String()}}}
		for i, r := range runs {
			t.Columns = append(t.Columns, view.Column{Head: r.Run.Start.UTC().Format("01-02 15:04"), Kind: view.Number, Spare: len(runs) - i})
		}
		for _, l := range lines {
			t.Rows = append(t.Rows, view.Row{Cells: append([]string{l.Label}, valuesByRun(runs, l, unit)...)})
		}
		out = append(out, t)
	}
	return out
}

// valuesByRun formats a line's value in each run; "" for runs without a value.
func valuesByRun(runs []report.Result, l plot.Line, unit string) (out []string) {
	for _, r := range runs {
		text := ""
		if i := slices.IndexFunc(l.Points, func(p plot.Point) bool { return p.At.Equal(r.Run.Start) }); i >= 0 {
			text = units.Quantity(l.Points[i].Median, unit)
		}
		out = append(out, text)
	}
	return out
}

func (c Comparison) figure() *plot.Figure {
	var rows []plot.Change
	for _, r := range c.Rows {
		if r.Ratio == nil {
			continue
		}
		_, cell, _ := strings.Cut(r.Cell, ", ") // the scenario is the same in most
		x := plot.Change{Label: r.What + ", " + cell, Factor: r.Ratio.Center, Alarm: r.Decides && r.Result == Worse, Faint: !r.Decides || r.Result == Unknown}
		if r.Ratio.Low != nil {
			x.Low, x.High = *r.Ratio.Low, *r.Ratio.High
		}
		if r.Noise != nil {
			x.Noise = *r.Noise
		}
		rows = append(rows, x)
	}
	return plot.Changes("Changes: "+runLabel(c.New)+" against "+runLabel(c.Old),
		"Each row is a number of the new run divided by the same number of the old run. Left of 0 % it decreased, right of 0 % it increased; "+
			"if the interval crosses 0 %, the change may be chance. "+betterOnTheRight()+" are better on the right, everything else on the left.",
		rows, 1+c.Limit)
}

// betterOnTheRight lists the metrics for which higher is better: "A, b and c".
func betterOnTheRight() string {
	var names []string
	for _, d := range metrics.All() {
		if d.Better == metrics.Higher {
			names = append(names, d.Name)
		}
	}
	last := len(names) - 1
	return strings.ToUpper(names[0][:1]) + strings.Join(names[:last], ", ")[1:] + " and " + names[last]
}
