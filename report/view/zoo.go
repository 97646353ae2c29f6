package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

func isZoo(s matrix.Scenario) bool {
	return slices.ContainsFunc(s.Trials(), func(t report.Trial) bool { return t.Script != "" })
}

// zooTable returns the table of a zoo: the deliberately broken subjects first, then the subjects that
// must pass. Passed trials of the latter are summarized in one row per subject.
func zooTable(trials []report.Trial) Table {
	var broken, sound []Row
	passed := map[string]int{}
	for _, t := range trials {
		result := t.Outcome()
		row := func(cells ...string) Row {
			return Row{Result: result, Cells: append([]string{units.Clean(t.Subject), units.Clean(t.Script)}, cells...)}
		}
		switch {
		case t.Script == "":
		case len(t.Expect) > 0:
			broken = append(broken, row(units.Clean(strings.Join(t.Expect, ", ")), caughtText(t)))
		case result == report.Pass:
			passed[t.Subject]++
		default:
			sound = append(sound, row(mustPass, notPassed(t)))
		}
	}
	for subject, n := range passed {
		sound = append(sound, Row{Result: report.Pass, Cells: []string{units.Clean(subject), units.Plural(n, "cell"), mustPass, "passed"}})
	}
	bySubject := func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Cells[0], b.Cells[0]), cmp.Compare(rank(b.Result), rank(a.Result)))
	}
	slices.SortStableFunc(broken, func(a, b Row) int { return cmp.Compare(a.Cells[0], b.Cells[0]) })
	slices.SortStableFunc(sound, bySubject)
	return Table{Rows: append(broken, sound...), Columns: []Column{
		{Head: "subject"}, {Head: "cell"}, {Head: "verdict that must fail"}, {Head: "caught", Kind: Status}}}
}

const mustPass = "none: it must pass"

func rank(result string) int { return verdict.Severity(result) }

func caughtText(t report.Trial) string {
	if missed := t.Missed(); len(missed) > 0 {
		return "NO: " + units.Clean(strings.Join(missed, ", ")) + " did not fail"
	}
	return "yes"
}

func notPassed(t report.Trial) string {
	var parts []string
	for _, v := range t.Verdicts {
		if v.Result != report.Pass && verdict.IsChecked(v.Result) {
			parts = append(parts, units.Clean(v.Guarantee+" "+v.Result))
		}
	}
	return strings.Join(parts, ", ")
}

// addZoo adds the results of a zoo: how many broken subjects were caught, and how many others passed.
func (v *View) addZoo(name string, trials []report.Trial) {
	var broken, sound report.Tally
	for _, t := range trials {
		if len(t.Expect) > 0 {
			broken.Add(t.Outcome())
		} else {
			sound.Add(t.Outcome())
		}
	}
	var parts, lines []string
	if n := broken.Total(); n > 0 {
		parts = append(parts, "each of "+units.Plural(n, "broken case")+" must be caught by its verdict")
		lines = append(lines, fmt.Sprintf("Of %s of deliberately broken subjects, %d %s caught by %s.",
			units.Plural(n, "case"), broken.Pass, wasOrWere(broken.Pass), oneOrMany(broken.Pass, "its verdict", "their verdicts")))
	}
	if n := sound.Total(); n > 0 {
		parts = append(parts, units.Plural(n, "correct case")+" must pass")
		lines = append(lines, fmt.Sprintf("Of %s of correct subjects, %d passed every verdict.", units.Plural(n, "cell"), sound.Pass))
	}
	v.abouts = append(v.abouts, units.Clean(name)+": "+strings.Join(parts, ", and "))
	v.Findings = append(v.Findings, measuredFindings(lines...)...)
	table := zooTable(trials)
	v.Tables = append(v.Tables, table)
	table.Rows = slices.DeleteFunc(slices.Clone(table.Rows), func(r Row) bool { return r.Result == report.Pass })
	v.Brief = append(v.Brief, table.LimitRows(briefRows))
}

// verdictFindings is the largest number of subjects in the verdict sentence, of broken guarantees for
// each, and of named faults without proof.
const verdictFindings = 3

// subjectsAffected returns the number of subjects that the findings concern, " (2 of 3 subjects)". It returns
// "" for a single subject, or if the subject of a trial is unknown because its history could not be read.
func (b builder) subjectsAffected(all []Finding) string {
	subjects := matrix.Distinct(b.Result.Trials, subjectOf)
	broken := matrix.Distinct(all, func(f Finding) string { return f.Subject })
	if len(subjects) < 2 || slices.Contains(subjects, "") {
		return ""
	}
	return fmt.Sprintf(" (%d of %s)", len(broken), units.Plural(len(subjects), "subject"))
}

func summarize(all []Finding) string {
	bySubject := matrix.Group(all, func(f Finding) string { return cmp.Or(f.Subject, f.TrialName) })
	return strings.Join(limitParts(units.Names(bySubject, summarizeSubject)), "; ")
}

func summarizeSubject(of []Finding) string {
	where := of[0].TrialName
	byText := matrix.Group(of, func(f Finding) string { return units.Clean(f.Text) })
	texts := units.Names(byText, func(same []Finding) string { return units.Clean(same[0].Text) })
	if !slices.ContainsFunc(of, func(f Finding) bool { return f.TrialName != where }) {
		var faults []string
		for _, f := range of {
			faults = append(faults, f.Under...)
		}
		return units.List(limitParts(texts)) + " in " + where + underFaults(matrix.Distinct(faults, identity))
	}
	for i, same := range byText {
		texts[i] += " in " + units.Plural(len(same), of[0].trial())
	}
	if first := of[0]; first.Cell != "" {
		return fmt.Sprintf("%s: %s (first: %s)", units.Clean(first.Subject), units.List(limitParts(texts)), first.Cell)
	}
	return units.List(limitParts(texts)) + ", first in " + where
}

// limitParts returns the first verdictFindings parts and, if there are more, the number of the others.
func limitParts(parts []string) []string {
	if more := len(parts) - verdictFindings; more > 0 {
		return append(slices.Clone(parts[:verdictFindings]), fmt.Sprintf("%d more", more))
	}
	return parts
}

func (f Finding) trial() string {
	if f.Cell != "" {
		return "cell"
	}
	return "trial"
}

func (b builder) scenarioSummary(abouts []string) string {
	run := b.Result.Run
	if len(abouts) == 0 {
		return fmt.Sprintf("Scenario %s: no trial was run.", units.Clean(run.Scenario))
	}
	return strings.Join(abouts, "; ") + ensembleText(run.Ensemble) + agentsText(run.Agents) + "." +
		skippedFaults(run.SkippedFaults)
}

func skippedFaults(all []report.SkippedFault) string {
	if len(all) == 0 {
		return ""
	}
	parts := units.Names(all, func(l report.SkippedFault) string {
		return fmt.Sprintf("%s in %s (%s)", units.Clean(l.Fault), units.Clean(l.Phase), units.Clean(l.Why))
	})
	return " Skipped faults (not available here): " + strings.Join(parts, "; ") + "."
}

func describeScenario(s matrix.Scenario) string {
	if s.Name == "" {
		return "histories that cannot be opened"
	}
	subjects := units.Names(s.Series, func(x matrix.Series) string { return x.Label })
	counts := units.Names(s.Counts, strconv.Itoa)
	noun := s.Noun()
	if !slices.Equal(s.Counts, []int{1}) {
		noun += "s"
	}
	paths := matrix.Distinct(s.Trials(), func(t report.Trial) string { return t.Params["paths"] })
	if len(paths) == 1 && paths[0] != "" && paths[0] != "1" { // otherwise they are in the labels
		noun += " on " + units.Clean(paths[0]) + " paths"
	}
	return fmt.Sprintf("%s: %s with %s %s", units.Clean(s.Name), units.List(subjects), units.List(counts), noun)
}

func ensembleText(e report.Ensemble) string {
	if e.Kind == "" {
		return ""
	}
	return fmt.Sprintf(", against %s (%s ensemble)", size(e), units.Clean(e.Kind))
}

func agentsText(agents []string) string {
	names := units.Names(agents, units.Clean)
	switch len(names) {
	case 0:
		return ""
	case 1, 2, 3, 4, 5:
		return ", from " + units.Plural(len(names), "agent") + " (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf(", from %d agents (%s to %s)", len(names), names[0], names[len(names)-1])
}

// size counts the members by role: "5 members and 2 observers".
func size(e report.Ensemble) string {
	members := units.Plural(e.Members, "member")
	if n := len(e.Observers); n > 0 {
		members += " and " + units.Plural(n, "observer")
	}
	return members
}

// trialLabel returns a description of the trial that is unique in the run, given the label of its series.
func trialLabel(label string, t report.Trial) string {
	switch {
	case t.Subject == "": // the history could not be opened
		return units.Clean(t.Name)
	case t.Step != "":
		return label
	}
	s := fmt.Sprintf("%s at %s", label, units.Plural(t.Clients, matrix.Noun(t)))
	if n := t.Repetition; n > 0 {
		s += fmt.Sprintf(", trial %d", n)
	}
	return s
}

// mergedCells returns one merged trial for each cell, ordered by scenario, number of clients and
// series, so that compared trials are adjacent. The Subject of each is the label of its series.
func mergedCells(all []matrix.Scenario) (out []report.Trial) {
	for _, s := range all {
		for _, n := range s.Counts {
			for _, x := range s.Series {
				if at := x.At(n); len(at) > 0 {
					t := matrix.Merge(at)
					t.Subject = x.Label
					out = append(out, t)
				}
			}
		}
	}
	return out
}

func identity(s string) string { return s }

func subjectOf(t report.Trial) string { return t.Subject }

func ofScenario(trials []report.Trial, name string) []report.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t report.Trial) bool { return t.Scenario != name })
}
