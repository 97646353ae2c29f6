package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

var marks = map[string]string{
	report.Pass: MarkPass, report.Fail: MarkFail, report.Unknown: MarkUnknown, report.NotPromised: MarkNone, report.NotJudged: MarkIdle,
}

var scorecardMarks = []Mark{{MarkPass, "kept"}, {MarkFail, "broken"}, {MarkUnknown, "unknown"}, {MarkNone, "not promised"}, {MarkIdle, "not exercised"}}

const thresholdsHead = "thresholds"

// scorecard returns a table with a row for each subject and a column for each guarantee, with
// the worst result over all trials. Deliberately broken subjects have a separate table.
func (b builder) scorecard() *Table {
	rows := b.scoreRows()
	if len(rows) == 0 {
		return nil
	}
	heads := scoreHeads(rows)
	t := &Table{Columns: []Column{{Head: "subject", Kind: NoWrap}}}
	t.addMarkColumns(heads, scorecardMarks)
	for _, x := range rows {
		r := Row{Cells: []string{units.Clean(x.subject)}, Links: []string{""}}
		var results []string
		for _, name := range heads {
			c, ok := x.cells[name]
			if ok {
				results = append(results, c.result)
			}
			r.Cells, r.Links = append(r.Cells, marks[c.result]), append(r.Links, c.link)
		}
		r.Result = verdict.Worst(results...)
		t.Rows = append(t.Rows, r)
	}
	t.keepMarks()
	return t
}

type scoredRow struct {
	subject string
	cells   map[string]scoredCell
}

type scoredCell struct{ result, link string }

func (b builder) scoreRows() []scoredRow {
	var out []scoredRow
	for _, trials := range matrix.Group(b.scoredTrials(), subjectOf) {
		row := scoredRow{trials[0].Subject, map[string]scoredCell{}}
		for _, t := range trials {
			for _, c := range checks(t) {
				row.add(t, c, b.proofID(t.Subject, t, c))
			}
		}
		out = append(out, row)
	}
	slices.SortStableFunc(out, func(x, y scoredRow) int { return strings.Compare(x.subject, y.subject) })
	return out
}

// add adds the result of a check to its cell if it is worse than the results before.
func (r scoredRow) add(t report.Trial, c Check, link string) {
	if t.Step != "" && c.Result == report.Unknown && c.What != verdict.Faults && t.Outcome() == report.Fail {
		return // in a failed cell, unknown results do not count
	}
	name := c.What
	if c.threshold {
		name = thresholdsHead
	}
	previous, seen := r.cells[name]
	if !seen || rank(c.Result) > rank(previous.result) || previous.result == report.NotPromised && c.Result == report.NotJudged {
		r.cells[name] = scoredCell{c.Result, link}
	}
}

// scoredTrials returns one trial for each repeated cell, and every cell of an audit.
func (b builder) scoredTrials() []report.Trial {
	inAudit := func(t report.Trial) bool { return t.Step != "" }
	rest := slices.DeleteFunc(slices.Clone(b.trials), func(t report.Trial) bool {
		return inAudit(t) || t.Subject == "" || len(t.Expect) > 0 || t.Provocation != ""
	})
	return append(rest, slices.DeleteFunc(slices.Clone(b.Result.Trials), func(t report.Trial) bool { return !inAudit(t) })...)
}

// proofID returns the id of the element of the page that proves a check: its story, or else its
// row. label is the label of the trial's series.
func (b builder) proofID(label string, t report.Trial, c Check) string {
	guarantee := c.What
	if t.Step != "" {
		guarantee = "" // each cell of an audit has one story
	}
	switch id := b.storyOf(t.Name, guarantee); {
	case c.Result == report.Fail && id != "":
		return id
	case t.Step != "":
		return auditID
	}
	return rowID(label, t, c)
}

func rowID(label string, t report.Trial, c Check) string {
	return "check-" + anchor(fmt.Sprint(t.Scenario, "-", label, "-", t.Clients, "-", c.What))
}

func anchor(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, units.Clean(s))
}

// scoreHeads returns the guarantees in the order of their rules, then other checks, then the thresholds.
func scoreHeads(rows []scoredRow) []string {
	all, present := verdict.Names(), map[string]bool{}
	for _, r := range rows {
		for _, name := range keys(r.cells) {
			present[name] = true
			if name != thresholdsHead && !slices.Contains(all, name) {
				all = append(all, name)
			}
		}
	}
	all = append(all, thresholdsHead)
	return slices.DeleteFunc(all, func(name string) bool { return !present[name] })
}
