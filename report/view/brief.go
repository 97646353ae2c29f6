package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// briefRows is how many rows of a table a terminal has room for.
const briefRows = 8

// brief is what a terminal shows of the tables. The page has all of them.
func (b builder) brief() (out []Table) {
	for _, s := range b.scenarios {
		switch {
		case audited(s):
			out = append(out, b.briefAudits(s)...)
		case zoo(s):
			t := zooTable(ofScenario(b.Result.Trials, s.Name))
			t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return r.Result == report.Pass })
			out = append(out, t.Shortest(briefRows))
		default:
			out = append(out, trialTable(b.briefTrials(s)))
		}
	}
	return slices.DeleteFunc(out, func(t Table) bool { return len(t.Rows) == 0 })
}

// briefTrials are the trials of a scenario or, of many, those at the largest count of
// clients that all share.
func (b builder) briefTrials(s matrix.Scenario) []report.Trial {
	all := ofScenario(b.trials, s.Name)
	if len(all) <= briefRows {
		return all
	}
	n := s.Common()
	return slices.DeleteFunc(all, func(t report.Trial) bool { return t.Clients != n })
}

// briefAudits are the matrix of a single subject and what failed in it, or else a row for each
// and what failed in all of them.
func (b builder) briefAudits(s matrix.Scenario) []Table {
	all := b.audits(s)
	if len(all) == 1 {
		return []Table{all[0].matrix(), all[0].whole(), all[0].failed().Shortest(briefRows)}
	}
	failed := Table{Columns: []Column{{Head: "subject", Kind: Whole}, {Head: "cell", Kind: Whole}, {Head: "result", Kind: Status}}}
	for _, a := range all {
		t := a.failed()
		for _, r := range t.Rows {
			r.Cells = append([]string{units.Clean(a.subject)}, r.Cells[:2]...)
			failed.Rows = append(failed.Rows, r)
		}
		failed.Left += t.Left
	}
	return []Table{tally(all), failed.Shortest(briefRows)}
}

// Shortest leaves out the rows for which a terminal has no room, and says how many: those that
// passed first.
func (t Table) Shortest(rows int) Table {
	if more := len(t.Rows) - rows; more > 0 {
		t.Rows = slices.SortedStableFunc(slices.Values(t.Rows), func(a, b Row) int { return rank(b.Result) - rank(a.Result) })
		t.Rows, t.Left = t.Rows[:rows], t.Left+more
		t.Note = fmt.Sprintf("and %d more, in %s", t.Left, report.PageFile)
	}
	return t
}

// fullHeads is for how many columns a terminal has room to write their names out.
const fullHeads = 4

// BriefScorecard is the scorecard of several subjects as a terminal shows it: the guarantees
// that one of them did not keep, and the names of the others below. It is nil where there
// is one subject.
func (v *View) BriefScorecard() *Table {
	if v.Scorecard == nil || len(v.Scorecard.Rows) < 2 {
		return nil
	}
	keep, kept := []int{0}, []string{}
	for i, c := range v.Scorecard.Columns[1:] {
		has := func(marks ...string) bool {
			return slices.ContainsFunc(v.Scorecard.Rows, func(r Row) bool { return slices.Contains(marks, r.Cells[i+1]) })
		}
		switch {
		case has(MarkFail, MarkUnknown):
			keep = append(keep, i+1)
		case has(MarkPass):
			kept = append(kept, c.Head)
		}
	}
	t := v.Scorecard.Pick(keep)
	t.Legend = t.legend()
	if len(keep) <= fullHeads {
		t.Legend = ""
		for i := range t.Columns {
			t.Columns[i].Short = ""
		}
	}
	if len(kept) > 0 {
		t.Note = "Kept wherever it is promised and was judged: " + units.List(kept) + "."
	}
	if len(keep) == 1 {
		t.Rows, t.Marks = nil, nil
	} else {
		t.worst()
	}
	return &t
}

// legend says what the short heads stand for.
func (t Table) legend() string {
	var parts []string
	for _, c := range t.Columns {
		if c.Short != "" {
			parts = append(parts, c.Short+" "+c.Head)
		}
	}
	return strings.Join(parts, ", ") + "."
}

// worst keeps of a scorecard the subjects that did not keep everything, and the marks that
// stand there.
func (t *Table) worst() {
	all := len(t.Rows)
	t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool {
		return !slices.Contains(r.Cells, MarkFail) && !slices.Contains(r.Cells, MarkUnknown)
	})
	if sound := all - len(t.Rows); sound > 0 {
		t.Note = strings.TrimSpace("Not listed: " + units.Plural(sound, "subject") + " that kept everything. " + t.Note)
	}
	t.keepMarks()
}

// keepMarks keeps the marks that stand in the table.
func (t *Table) keepMarks() {
	t.Marks = slices.DeleteFunc(slices.Clone(t.Marks), func(m Mark) bool {
		return !slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.Contains(r.Cells, m.Kind) })
	})
}
