package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// tables returns the matrix, the scripts for the whole line, and the cells that did not pass.
func (a *audit) tables() (out []Table) {
	for _, t := range []Table{a.matrix(), a.whole(), a.failed()} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// matrix returns a table with a row for each step and a column for each fault.
func (a *audit) matrix() Table {
	faults := a.faults()
	t := Table{Columns: []Column{{Head: units.Clean(a.subject), Kind: Whole}}}
	var legend []string
	for i, f := range faults {
		short := string(rune('a' + i))
		t.Columns = append(t.Columns, Column{Head: units.Clean(f), Short: short, Kind: Outcome})
		legend = append(legend, short+" "+units.Clean(f))
	}
	for _, s := range a.steps {
		if s.Step == wholeLine || len(a.pairs) > 0 { // pairs replace single faults
			continue
		}
		r := Row{Cells: []string{units.Clean(s.Step)}, Links: []string{""}}
		for _, f := range faults {
			mark, link := a.mark(s, f)
			r.Cells, r.Links = append(r.Cells, mark), append(r.Links, link)
		}
		t.Rows = append(t.Rows, r)
	}
	t.Marks, t.Legend = auditMarks, strings.Join(legend, ", ")+"."
	return t
}

// whole returns the table of the scripts for the whole line.
func (a *audit) whole() Table {
	t := Table{Columns: []Column{{Head: units.Clean(a.subject) + ", the whole line", Kind: Whole}, {Head: "", Kind: Outcome}}}
	for _, s := range a.steps {
		if s.Step != wholeLine {
			continue
		}
		for _, f := range s.Faults {
			mark, link := a.mark(s, f)
			t.Rows = append(t.Rows, Row{Cells: []string{units.Clean(f), mark}, Links: []string{"", link}})
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b Row) int { return cmp.Compare(wholeRank[a.Cells[1]], wholeRank[b.Cells[1]]) })
	return t
}

// wholeRank puts failures first, because a terminal shows only the first rows.
var wholeRank = map[string]int{MarkFail: -2, MarkUnknown: -1}

// failedLimit is the largest number of listed cells that did not pass.
const failedLimit = 40

// failed lists the cells that did not pass or are not applicable, with the command that runs each.
func (a *audit) failed() Table {
	t := Table{Columns: []Column{{Head: "cell", Kind: Whole}, {Head: "result", Kind: Status}, {Head: "to run it alone", Kind: Code}}}
	all := 0
	for _, c := range a.ordered() {
		result, words := c.Outcome(), status(c)
		if result == report.Pass {
			why := c.Inapplicable()
			if why == "" {
				continue
			}
			result, words = report.NotJudged, "not applicable: "+units.Clean(why)
		}
		if all++; all <= failedLimit {
			t.Rows = append(t.Rows, Row{Result: result, Cells: []string{units.Clean(c.Provocation), words, a.command(c)}})
		}
	}
	if more := all - failedLimit; more > 0 {
		t.Left, t.Note = more, "and "+strconv.Itoa(more)+" more"
	}
	return t
}

// command returns the command that runs one cell. For a driver it is based on the command of
// the run, because only that scenario specifies how to start the driver.
func (a *audit) command(t report.Trial) string {
	if _, driven := t.Metrics[metrics.PipeRoundtrip]; driven && a.run.Command != "" {
		return fmt.Sprintf("%s --subject %s --set 'phases.0.cells=[\"%s\"]'", a.run.Command, units.Clean(a.subject), units.Clean(t.Provocation))
	}
	s := fmt.Sprintf("zkbench audit %s --cell '%s' --seed %d", units.Clean(a.subject), units.Clean(t.Provocation), a.run.Seed)
	if kind := a.run.Ensemble.Kind; kind != "" {
		s += " --ensemble " + units.Clean(kind)
	}
	return s
}

// tally summarizes several audits, one row each.
func tally(all []*audit) Table {
	t := Table{Columns: []Column{{Head: "subject", Kind: Whole}, number("steps", 0, nil).Column, number("cells", 0, nil).Column,
		number("kept every", 0, nil).Column, number("broke", 0, nil).Column, number("unknown", 0, nil).Column}}
	for _, a := range all {
		steps, cells := a.planned()
		n := a.count()
		r := Row{Cells: []string{units.Clean(a.subject)}}
		for _, v := range []int{steps, cells, n.Pass, n.Fail, n.Unknown} {
			r.Cells = append(r.Cells, units.Number(float64(v)))
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// ordered returns the cells in the order of the matrix.
func (a *audit) ordered() (out []report.Trial) {
	for _, s := range a.steps {
		for _, f := range s.Faults {
			if t, exists := a.cells[s.Step+"/"+f]; exists {
				out = append(out, t)
			}
		}
	}
	for _, name := range a.pairs {
		out = append(out, a.cells[name])
	}
	return out
}
