package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

func (b builder) verdict(v *View) string {
	switch v.Result {
	case report.Pass:
		return "Passed" + skippedNames(b.Result.Run.SkippedFaults) + ": " + passSummary(b.Result.Trials)
	case report.Fail:
		return "Failed" + b.subjectsAffected(v.FindingsOf(Broken)) + ": " + summarize(v.FindingsOf(Broken)) + "."
	}
	if undecided := v.FindingsOf(Undecided); len(undecided) > 0 {
		return "Unknown: " + summarize(undecided) + "."
	}
	return "Unknown: " + units.List(b.runDoubts()) + "."
}

func skippedNames(all []report.SkippedFault) string {
	if len(all) == 0 {
		return ""
	}
	names := matrix.Distinct(all, func(l report.SkippedFault) string { return l.Fault })
	return ", without " + units.Clean(units.List(names))
}

func passSummary(trials []report.Trial) string {
	verdicts, thresholds := report.Tallies(trials)
	end := oneOrMany(verdicts.Pass, " holds.", " hold.")
	if thresholds.Pass > 0 {
		end = " and " + allOf(thresholds.Pass, "threshold") + " hold."
	}
	return allOf(verdicts.Pass, "verdict") + end + strings.Join(matrix.Distinct(trials, untestedExclusion), "")
}

func untestedExclusion(t report.Trial) string {
	if slices.ContainsFunc(t.Verdicts, func(v report.Verdict) bool {
		return v.Guarantee == verdict.MutualExclusion && v.Result == report.NotPromised
	}) {
		return " Not tested: " + verdict.MutualExclusion + " of " + units.Clean(t.Subject) + ", because it was not promised."
	}
	return ""
}

func allOf(n int, noun string) string {
	return oneOrMany(n, "the one "+noun, "all "+units.Plural(n, noun))
}

func (b builder) findings() (out []Finding) {
	broken, undecided := b.checkFindings(report.Fail, Broken), b.checkFindings(report.Unknown, Undecided)
	for _, s := range b.runDoubts() {
		out = append(out, Finding{Kind: Doubt, Text: units.Capital(s) + "."})
	}
	return slices.Concat(out, broken, undecided)
}

// checkFindings returns findings for the checks of all trials with the given result: trials that did
// not complete first, then by severity, and thresholds last.
func (b builder) checkFindings(result string, kind Kind) []Finding {
	var incomplete, guarantees, thresholds []Finding // an incomplete trial explains the other unknown results
	for _, t := range b.Result.Trials {
		label := b.names.Label(t.Cell)
		for _, c := range checks(t) {
			if c.Result != result || c.repeats(t) || t.Step != "" && result != t.Outcome() { // in a failed cell, unknown results do not count
				continue
			}
			f := Finding{Kind: kind, Subject: t.Subject, TrialName: trialLabel(label, t), Under: b.faultsOf(t, c), Text: c.FailedName, Why: strings.Join(c.Reasons, "; "), Link: b.proofID(label, t, c)}
			if t.Step != "" {
				f.Cell = units.Clean(t.Script)
			}
			switch {
			case c.threshold:
				thresholds = append(thresholds, f)
			case c.What == verdict.Completed:
				incomplete = append(incomplete, f)
			default:
				guarantees = append(guarantees, f)
			}
		}
	}
	slices.SortStableFunc(guarantees, func(a, b Finding) int { return severestFirst(a.Text, b.Text) })
	return slices.Concat(incomplete, guarantees, thresholds)
}

// severestFirst compares guarantees by their rule numbers: two holders at the same time are more severe than
// an orphaned node.
func severestFirst(a, b string) int {
	rule := func(guarantee string) int {
		if g, ok := verdict.Find(guarantee); ok {
			return g.Order
		}
		return math.MaxInt
	}
	return cmp.Compare(rule(a), rule(b))
}

// repeats reports whether the check is a threshold on verdicts that only repeats a verdict of the trial.
func (c Check) repeats(t report.Trial) bool {
	return c.threshold && strings.HasPrefix(c.What, "verdicts ") &&
		slices.ContainsFunc(t.Verdicts, func(v report.Verdict) bool { return normalizeResult(v.Result) == c.Result })
}

// faultsOf returns the faults of a failed check's explanation; not for a cell of an audit, whose name has them.
func (b builder) faultsOf(t report.Trial, c Check) []string {
	for _, s := range b.Explanations {
		if c.Result == report.Fail && t.Step == "" && s.Trial.Name == t.Name && s.GuaranteeName == c.What {
			return s.ActiveFaults
		}
	}
	return nil
}

func (b builder) runDoubts() []string {
	var out []string
	if ended := b.Result.Run.EndReason; ended != "" {
		out = append(out, "the run ended early ("+units.Clean(ended)+")")
	}
	if len(b.Result.Trials) == 0 {
		out = append(out, "no trial was run")
	}
	skipped, unproven := 0, []string(nil)
	for _, t := range b.Result.Trials {
		for _, f := range t.Faults {
			switch {
			case f.Skipped():
				skipped++
			case f.Proof == "":
				unproven = append(unproven, units.Clean(f.Fault+" in "+cmp.Or(t.Script, t.Name)))
			}
		}
	}
	if skipped > 0 {
		out = append(out, units.Plural(skipped, "fault")+" could not be injected here and "+wasOrWere(skipped)+" skipped")
	}
	if n := len(unproven); n > 0 {
		out = append(out, units.Plural(n, "fault")+" had "+noProof+": "+units.List(limitParts(unproven)))
	}
	return out
}

func oneOrMany(n int, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

func wasOrWere(n int) string { return oneOrMany(n, "was", "were") }

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
	t.Marks = slices.DeleteFunc(slices.Clone(t.Marks), func(m Mark) bool {
		return !slices.ContainsFunc(t.Rows, func(r Row) bool { return slices.Contains(r.Cells, m.Kind) })
	})
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
	return "check-" + units.Identifier(fmt.Sprint(t.Scenario, "-", label, "-", t.Clients, "-", c.What))
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
