package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// marks are what stands for a result in a matrix. They can be told apart without colours.
var marks = map[string]string{
	report.Pass: MarkPass, report.Fail: MarkFail, report.Unknown: MarkUnknown, report.NotPromised: MarkNone, report.NotJudged: MarkIdle,
}

var scorecardMarks = []Mark{{MarkPass, "kept"}, {MarkFail, "broken"}, {MarkUnknown, "could not be judged"}, {MarkNone, "not promised"}, {MarkIdle, "not judged"}}

// thresholdsHead heads the column of all thresholds of a subject.
const thresholdsHead = "thresholds"

// scorecard has the subjects down and the guarantees across: of each the worst over all
// trials of the subject. What is broken on purpose has a table of its own.
func (b builder) scorecard() *Table {
	rows := b.scored()
	if len(rows) == 0 {
		return nil
	}
	heads := scoredHeads(rows)
	t := &Table{Columns: []Column{{Head: "subject", Kind: Whole}}, Marks: scorecardMarks}
	var legend []string
	for i, name := range heads {
		short := string(rune('a' + i))
		t.Columns = append(t.Columns, Column{Head: name, Short: short, Kind: Outcome})
		legend = append(legend, short+" "+name)
	}
	t.Legend = strings.Join(legend, ", ") + "."
	for _, x := range rows {
		r := Row{Cells: []string{units.Clean(x.subject)}, Links: []string{""}}
		var results []string
		for _, name := range heads {
			c, ok := x.cells[name]
			if !ok {
				r.Cells, r.Links = append(r.Cells, ""), append(r.Links, "")
				continue
			}
			results = append(results, c.result)
			r.Cells, r.Links = append(r.Cells, marks[c.result]), append(r.Links, c.link)
		}
		r.Result = verdict.Worst(results...)
		t.Rows = append(t.Rows, r)
	}
	t.keepMarks()
	return t
}

// scoredRow is what became of the guarantees of a subject.
type scoredRow struct {
	subject string
	cells   map[string]scoredCell
}

// scoredCell is the worst result, and the id of its proof.
type scoredCell struct{ result, link string }

// scored lists the subjects in order.
func (b builder) scored() []scoredRow {
	var out []scoredRow
	for _, t := range b.onScorecard() {
		i := slices.IndexFunc(out, func(r scoredRow) bool { return r.subject == t.Subject })
		if i < 0 {
			i = len(out)
			out = append(out, scoredRow{t.Subject, map[string]scoredCell{}})
		}
		for _, c := range checks(t) {
			if t.Step != "" && c.Result == report.Unknown && c.What != verdict.Faults && t.Outcome() == report.Fail {
				continue // what else is open in a cell that failed says nothing
			}
			name := c.What
			if c.threshold {
				name = thresholdsHead
			}
			was, seen := out[i].cells[name]
			if !seen || rank(c.Result) > rank(was.result) || was.result == report.NotPromised && c.Result == report.NotJudged {
				out[i].cells[name] = scoredCell{c.Result, b.proof(t.Subject, t, c)}
			}
		}
	}
	slices.SortStableFunc(out, func(x, y scoredRow) int { return strings.Compare(x.subject, y.subject) })
	return out
}

// onScorecard are the trials whose guarantees say something of their subject: of repeated
// cells one each, and every cell of an audit.
func (b builder) onScorecard() []report.Trial {
	inAudit := func(t report.Trial) bool { return t.Step != "" }
	rest := slices.DeleteFunc(slices.Clone(b.trials), func(t report.Trial) bool {
		return inAudit(t) || t.Subject == "" || len(t.Expect) > 0 || t.Provocation != ""
	})
	return append(rest, slices.DeleteFunc(slices.Clone(b.Result.Trials), func(t report.Trial) bool { return !inAudit(t) })...)
}

// proof is the id of what the page proves a check with, given the label of the trial's
// series: its story, or else its row.
func (b builder) proof(label string, t report.Trial, c Check) string {
	told := c.What
	if t.Step != "" {
		told = "" // of an audit's cells each has one story
	}
	switch id := b.storyOf(t.Name, told); {
	case c.Result == report.Fail && id != "":
		return id
	case t.Step != "":
		return auditID
	}
	return rowID(label, t, c)
}

// rowID is the id of a check's row, which repetitions of a cell share.
func rowID(label string, t report.Trial, c Check) string {
	return "check-" + anchor(fmt.Sprint(t.Scenario, "-", label, "-", t.Clients, "-", c.What))
}

// anchor keeps of a text what an address may hold.
func anchor(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, units.Clean(s))
}

// scoredHeads are the guarantees that some subject has, in the order of their rules, then
// what else was judged, then the thresholds.
func scoredHeads(rows []scoredRow) []string {
	var out, others []string
	has := func(name string) bool {
		return slices.ContainsFunc(rows, func(r scoredRow) bool { _, ok := r.cells[name]; return ok })
	}
	for _, name := range verdict.Names() {
		if has(name) {
			out = append(out, name)
		}
	}
	for _, r := range rows {
		for _, name := range keys(r.cells) {
			if name != thresholdsHead && !slices.Contains(out, name) && !slices.Contains(others, name) {
				others = append(others, name)
			}
		}
	}
	out = append(out, others...)
	if has(thresholdsHead) {
		out = append(out, thresholdsHead)
	}
	return out
}
