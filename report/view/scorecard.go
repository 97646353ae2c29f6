package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

var marks = map[string]string{
	report.Pass: MarkPass, report.Fail: MarkFail, report.Unknown: MarkUnknown, report.NotPromised: MarkNone, report.NotJudged: MarkNotExercised,
}

var scorecardMarks = []Mark{{MarkPass, "kept"}, {MarkFail, "broken"}, {MarkUnknown, "unknown"}, {MarkNone, "not promised"}, {MarkNotExercised, "not exercised"}}

const thresholdsHead = "thresholds"

// score is the result of a check of a subject, with the id of its proof on the page.
type score struct{ subject, head, result, link string }

// scorecard returns a table with a row for each subject and a column for each guarantee, with
// the worst result over all trials. Deliberately broken subjects have a separate table.
func (b builder) scorecard() *Table {
	scores := b.scores()
	if len(scores) == 0 {
		return nil
	}
	heads := scoreHeads(scores)
	t := &Table{Columns: []Column{{Head: "subject", Kind: NoWrap}}}
	t.addMarkColumns(heads, scorecardMarks)
	for _, mine := range matrix.Group(scores, func(s score) string { return s.subject }) {
		r := Row{Cells: []string{units.Clean(mine[0].subject)}, Links: []string{""}}
		var results []string
		for _, head := range heads {
			var worst score
			if all := slices.DeleteFunc(slices.Clone(mine), func(s score) bool { return s.head != head }); len(all) > 0 {
				worst = slices.MaxFunc(all, bySeverity)
				results = append(results, worst.result)
			}
			r.Cells, r.Links = append(r.Cells, marks[worst.result]), append(r.Links, worst.link)
		}
		r.Result = verdict.Worst(results...)
		t.Rows = append(t.Rows, r)
	}
	t.keepMarks()
	return t
}

// bySeverity orders scores by result; a guarantee that was not exercised is at least promised.
func bySeverity(a, b score) int {
	exercisable := map[string]int{report.NotJudged: 1}
	return cmp.Or(rank(a.result)-rank(b.result), exercisable[a.result]-exercisable[b.result])
}

// scores returns the results of all checks, sorted by subject. In a failed cell of an audit, unknown
// results do not count.
func (b builder) scores() (out []score) {
	for _, t := range b.scoredTrials() {
		for _, c := range checks(t) {
			if t.Step != "" && c.Result == report.Unknown && c.What != verdict.Faults && t.Outcome() == report.Fail {
				continue
			}
			head := c.What
			if c.threshold {
				head = thresholdsHead
			}
			out = append(out, score{t.Subject, head, c.Result, b.proofID(t.Subject, t, c)})
		}
	}
	slices.SortStableFunc(out, func(x, y score) int { return strings.Compare(x.subject, y.subject) })
	return out
}

// scoredTrials returns one trial for each repeated cell, and every cell of an audit.
func (b builder) scoredTrials() []report.Trial {
	inAudit := func(t report.Trial) bool { return t.Step != "" }
	rest := slices.DeleteFunc(slices.Clone(b.trials), func(t report.Trial) bool {
		return inAudit(t) || t.Subject == "" || len(t.Expect) > 0 || t.Script != ""
	})
	return append(rest, slices.DeleteFunc(slices.Clone(b.Result.Trials), func(t report.Trial) bool { return !inAudit(t) })...)
}

// proofID returns the id of the element of the page that proves a check: its explanation, or else its row.
func (b builder) proofID(label string, t report.Trial, c Check) string {
	guarantee := c.What
	if t.Step != "" {
		guarantee = "" // each cell of an audit has one explanation
	}
	switch id := b.explanationOf(t.Name, guarantee); {
	case c.Result == report.Fail && id != "":
		return id
	case t.Step != "":
		return resultsID
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
func scoreHeads(scores []score) []string {
	present := matrix.Distinct(scores, func(s score) string { return s.head })
	others := slices.DeleteFunc(slices.Sorted(slices.Values(present)), func(head string) bool {
		return head == thresholdsHead || slices.Contains(verdict.Names(), head)
	})
	all := slices.Concat(verdict.Names(), others, []string{thresholdsHead})
	return slices.DeleteFunc(all, func(head string) bool { return !slices.Contains(present, head) })
}
