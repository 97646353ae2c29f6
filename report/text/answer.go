package text

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// Answer is what a run was asked and what it found, in sentences. It is computed
// from the data alone and fits any scenario.
type Answer struct {
	Asked   string
	Result  string // report.Pass, Fail or Unknown
	Verdict string
	Found   []string
	Doubts  []string // what weakens the answer
}

// Answers says what the run found.
func Answers(r report.Result) Answer {
	a := Answer{Asked: asked(r), Result: r.Outcome()}
	a.Verdict = verdict(r, a.Result)
	for _, s := range matrix.Of(r.Trials) {
		a.Found = append(a.Found, found(s, compared(r, s.Name))...)
	}
	names := matrix.NamesOf(r.Trials)
	for _, c := range r.Comparisons {
		a.Found = append(a.Found, beside(c, names))
	}
	a.Doubts = doubts(r)
	return a
}

func asked(r report.Result) string {
	var parts []string
	for _, s := range matrix.Of(r.Trials) {
		if zoo(s) {
			parts = append(parts, askedInZoo(s))
			continue
		}
		if s.Name == "" {
			parts = append(parts, "histories that cannot be opened")
			continue
		}
		var subjects, counts []string
		for _, x := range s.Series {
			subjects = append(subjects, x.Label)
		}
		for _, n := range s.Counts {
			counts = append(counts, strconv.Itoa(n))
		}
		noun := "contenders"
		if len(counts) == 1 && counts[0] == "1" {
			noun = "contender"
		}
		parts = append(parts, fmt.Sprintf("%s: %s with %s %s", units.Clean(s.Name), list(subjects), list(counts), noun))
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Scenario %s: no trial was run.", units.Clean(r.Run.Scenario))
	}
	return strings.Join(parts, "; ") + ensemble(r.Run.Ensemble) + "."
}

func ensemble(e report.Ensemble) string {
	if e.Kind == "" {
		return ""
	}
	return fmt.Sprintf(", against %s (%s ensemble)", units.Plural(e.Members, "member"), units.Clean(e.Kind))
}

// verdictFindings bounds how many broken guarantees the opening sentence names.
const verdictFindings = 3

func verdict(r report.Result, result string) string {
	verdicts, thresholds := report.Tallies(r.Trials)
	switch result {
	case report.Pass:
		s := "Passed: " + allOf(verdicts.Pass, "verdict")
		if verdicts.Pass == 1 && thresholds.Pass == 0 {
			return s + " holds."
		}
		if thresholds.Pass > 0 {
			s += " and " + allOf(thresholds.Pass, "threshold")
		}
		return s + " hold."
	case report.Fail:
		return "Failed: " + name(findings(r.Trials, true)) + "."
	}
	open := findings(r.Trials, false)
	if len(open) == 0 {
		return "Could not be judged: " + list(doubtWords(r)) + "."
	}
	return fmt.Sprintf("Could not be judged: %s.", name(open))
}

func allOf(n int, noun string) string {
	if n == 1 {
		return "the one " + noun
	}
	return "all " + units.Plural(n, noun)
}

// name lists findings by what was broken: the first trial with its reason, and
// how many trials more.
func name(all []finding) string {
	var first []finding
	trials := map[string]int{}
	for _, f := range all {
		if trials[f.what] == 0 {
			first = append(first, f)
		}
		trials[f.what]++
	}
	var parts []string
	for i, f := range first {
		if i == verdictFindings {
			parts = append(parts, fmt.Sprintf("%d more", len(first)-i))
			break
		}
		s := fmt.Sprintf("%s in %s", units.Clean(f.what), f.where)
		if more := trials[f.what] - 1; more > 0 {
			s += " and " + units.Plural(more, "more trial")
		}
		if reason := units.Times(units.Clean(f.reason)); reason != "" {
			s += " (" + units.Short(reason, 160) + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

func doubtWords(r report.Result) []string {
	var out []string
	if r.Run.Ended != "" {
		out = append(out, "the run ended early ("+units.Clean(r.Run.Ended)+")")
	}
	if len(r.Trials) == 0 {
		out = append(out, "no trial was run")
	}
	skipped, without := 0, 0
	for _, t := range r.Trials {
		s := t.Skipped()
		skipped, without = skipped+s, without+t.Unproven()-s
	}
	if skipped > 0 {
		out = append(out, units.Plural(skipped, "fault")+" could not be injected here and "+was(skipped)+" skipped")
	}
	if without > 0 {
		out = append(out, units.Plural(without, "fault")+" had no proven effect")
	}
	return out
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}

func doubts(r report.Result) []string {
	out := doubtWords(r)
	if n, why := unfit(r.Trials); n > 0 {
		out = append(out, fmt.Sprintf("%s unfit, so that the numbers may say more about the machine than about the recipe (%s)", trialsWere(n), why))
	}
	if open := findings(r.Trials, false); len(open) > 0 && r.Outcome() == report.Fail {
		out = append(out, units.Plural(len(open), "result")+" could not be judged")
	}
	for i := range out {
		out[i] = sentence(out[i])
	}
	return out
}

// unfit counts the trials in which the harness was not fit to measure, with the
// first reason.
func unfit(trials []report.Trial) (n int, why string) {
	for _, f := range findings(trials, false) {
		if f.what == report.Fit {
			if n == 0 {
				why = f.where + ": " + units.Clean(f.reason)
			}
			n++
		}
	}
	return n, why
}

func trialsWere(n int) string { return units.Plural(n, "trial") + " " + was(n) }

func sentence(s string) string { return sentenceCase(s) + "." }

// list joins with commas and a last "and".
func list(parts []string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return strings.Join(parts[:len(parts)-1], ", ") + " and " + parts[len(parts)-1]
}

// compared says whether subjects of the scenario took turns: then their neighbouring
// trials say more than the medians of all.
func compared(r report.Result, scenario string) bool {
	return slices.ContainsFunc(r.Comparisons, func(c report.Comparison) bool { return c.Scenario == scenario })
}

// beside is one sentence about a subject that took turns with a base.
func beside(c report.Comparison, names matrix.Names) string {
	return fmt.Sprintf("At %s, trial by trial, %s of %s is %s.", units.Plural(c.Clients, "contender"), c.Metric, names.Label(matrix.CellOf(c)), c)
}
