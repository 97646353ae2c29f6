package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
)

// verdictFindings bounds how many broken guarantees the verdict names.
const verdictFindings = 3

// verdict says in a sentence what the run came to.
func (b builder) verdict(v *View) string {
	switch v.Result {
	case report.Pass:
		return "Passed: " + held(b.Result.Trials)
	case report.Fail:
		return "Failed: " + name(v.Of(Broken)) + "."
	}
	if open := v.Of(Open); len(open) > 0 {
		return "Could not be judged: " + name(open) + "."
	}
	return "Could not be judged: " + units.List(b.interrupted()) + "."
}

// held counts what passed.
func held(trials []report.Trial) string {
	verdicts, thresholds := report.Tallies(trials)
	s := allOf(verdicts.Pass, "verdict")
	switch {
	case thresholds.Pass > 0:
		return s + " and " + allOf(thresholds.Pass, "threshold") + " hold."
	case verdicts.Pass == 1:
		return s + " holds."
	}
	return s + " hold."
}

func allOf(n int, noun string) string {
	if n == 1 {
		return "the one " + noun
	}
	return "all " + units.Plural(n, noun)
}

// name lists findings by what was broken: the first trial with its reason, and how many
// trials more.
func name(all []Finding) string {
	var first []Finding
	trials := map[string]int{}
	for _, f := range all {
		if trials[f.Text] == 0 {
			first = append(first, f)
		}
		trials[f.Text]++
	}
	var parts []string
	for i, f := range first {
		if i == verdictFindings {
			parts = append(parts, fmt.Sprintf("%d more", len(first)-i))
			break
		}
		s := fmt.Sprintf("%s in %s", units.Clean(f.Text), f.Subject)
		if more := trials[f.Text] - 1; more > 0 {
			s += " and " + units.Plural(more, "more trial")
		}
		if reason := units.Times(units.Clean(f.Why)); reason != "" {
			s += " (" + units.Short(reason, 160) + ")"
		}
		parts = append(parts, s)
	}
	return strings.Join(parts, "; ")
}

// findings lists everything that was found: what was measured, what weakens it, what was
// broken, and what could not be judged.
func (b builder) findings() []Finding {
	out := b.measures()
	broken, open := b.checked(report.Fail, Broken), b.checked(report.Unknown, Open)
	for _, s := range b.interrupted() {
		out = append(out, Finding{Kind: Doubt, Text: units.Capital(s) + "."})
	}
	for _, s := range doubts(open, len(broken) > 0) {
		out = append(out, Finding{Kind: Note, Text: units.Capital(s) + "."})
	}
	return slices.Concat(out, broken, open)
}

// checked lists the checks of all trials with that result.
func (b builder) checked(result string, kind Kind) []Finding {
	var out []Finding
	for _, t := range b.Result.Trials {
		for _, c := range checks(t) {
			if c.Result == result {
				out = append(out, Finding{kind, where(b.names.Label(t.Cell), t), c.Broken, strings.Join(c.Reasons, "; ")})
			}
		}
	}
	return out
}

// ofKinds returns the findings of these kinds.
func ofKinds(all []Finding, kinds ...Kind) []Finding {
	return slices.DeleteFunc(slices.Clone(all), func(f Finding) bool { return !slices.Contains(kinds, f.Kind) })
}

// interrupted says why the run as a whole is in doubt.
func (b builder) interrupted() []string {
	var out []string
	if ended := b.Result.Run.Ended; ended != "" {
		out = append(out, "the run ended early ("+units.Clean(ended)+")")
	}
	if len(b.Result.Trials) == 0 {
		out = append(out, "no trial was run")
	}
	not, without := 0, 0
	for _, t := range b.Result.Trials {
		n := t.Skipped()
		not, without = not+n, without+t.Unproven()-n
	}
	if not > 0 {
		out = append(out, units.Plural(not, "fault")+" could not be injected here and "+was(not)+" skipped")
	}
	if without > 0 {
		out = append(out, units.Plural(without, "fault")+" had "+noProof)
	}
	return out
}

// doubts says what else weakens the answer.
func doubts(open []Finding, failed bool) (out []string) {
	unfit := slices.DeleteFunc(slices.Clone(open), func(f Finding) bool { return f.Text != report.Fit })
	if n := len(unfit); n > 0 {
		out = append(out, fmt.Sprintf("%s %s unfit, so that the numbers may say more about the machine than about the recipe (%s: %s)",
			units.Plural(n, "trial"), was(n), unfit[0].Subject, units.Clean(unfit[0].Why)))
	}
	if len(open) > 0 && failed {
		out = append(out, units.Plural(len(open), "result")+" could not be judged")
	}
	return out
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
