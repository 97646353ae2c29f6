package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// briefRows is the number of rows of a table that a terminal shows.
const briefRows = 8

// brief returns the tables, or the parts of them, that a terminal shows. The page has all.
func (b builder) brief() (out []Table) {
	for _, s := range b.scenarios {
		switch {
		case isAudit(s):
			out = append(out, b.briefAudits(s)...)
		case isZoo(s):
			t := zooTable(ofScenario(b.Result.Trials, s.Name))
			t.Rows = slices.DeleteFunc(t.Rows, func(r Row) bool { return r.Result == report.Pass })
			out = append(out, t.Shortest(briefRows))
		default:
			out = append(out, trialTable(b.briefTrials(s)))
		}
	}
	return slices.DeleteFunc(out, func(t Table) bool { return len(t.Rows) == 0 })
}

// briefTrials returns the trials of a scenario or, if there are many, only those with the
// largest number of clients that all series have.
func (b builder) briefTrials(s matrix.Scenario) []report.Trial {
	all := ofScenario(b.trials, s.Name)
	if len(all) <= briefRows {
		return all
	}
	n := s.Common()
	return slices.DeleteFunc(all, func(t report.Trial) bool { return t.Clients != n })
}

// briefAudits returns the matrix of a single subject and its failures, or a summary row for each
// of several subjects and the failures of all.
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

// Shortest drops all but the given number of rows, passed ones first, and adds a note with the
// number of dropped rows.
func (t Table) Shortest(rows int) Table {
	if more := len(t.Rows) - rows; more > 0 {
		t.Rows = slices.SortedStableFunc(slices.Values(t.Rows), func(a, b Row) int { return rank(b.Result) - rank(a.Result) })
		t.Rows, t.Left = t.Rows[:rows], t.Left+more
		t.Note = fmt.Sprintf("and %d more, in %s", t.Left, report.PageFile)
	}
	return t
}

// fullHeads is the largest number of columns for which a terminal shows full heads.
const fullHeads = 4

// BriefScorecard returns the scorecard of several subjects for a terminal: columns for the
// guarantees that some subject did not keep, and the names of the others in a note. It returns
// nil for a single subject.
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
		t.Note = "Kept wherever promised and checked: " + units.List(kept) + "."
	}
	if len(keep) == 1 {
		t.Rows, t.Marks = nil, nil
	} else {
		t.keepFailing()
	}
	return &t
}

// legend explains the short heads.
func (t Table) legend() string {
	var parts []string
	for _, c := range t.Columns {
		if c.Short != "" {
			parts = append(parts, c.Short+" "+c.Head)
		}
	}
	return strings.Join(parts, ", ") + "."
}

// keepFailing drops the rows of subjects that kept everything, and the marks that no longer occur.
func (t *Table) keepFailing() {
	all := len(t.Rows)
	t.Rows = slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool {
		return !slices.Contains(r.Cells, MarkFail) && !slices.Contains(r.Cells, MarkUnknown)
	})
	if sound := all - len(t.Rows); sound > 0 {
		t.Note = strings.TrimSpace("Not listed: " + units.Plural(sound, "subject") + " that kept every guarantee. " + t.Note)
	}
	t.keepMarks()
}

// keepMarks drops the marks that do not occur in the table.
func (t *Table) keepMarks() {
	t.Marks = slices.DeleteFunc(slices.Clone(t.Marks), func(m Mark) bool {
		return !slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.Contains(r.Cells, m.Kind) })
	})
}
