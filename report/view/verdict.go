package view

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// verdict says in a sentence what the run came to.
func (b builder) verdict(v *View) string {
	switch v.Result {
	case report.Pass:
		return "Passed" + without(b.Result.Run.LeftOut) + ": " + held(b.Result.Trials)
	case report.Fail:
		return "Failed" + b.share(v.Of(Broken)) + ": " + name(v.Of(Broken)) + "."
	}
	if open := v.Of(Open); len(open) > 0 {
		return "Could not be judged: " + name(open) + "."
	}
	return "Could not be judged: " + units.List(b.interrupted()) + "."
}

// without names what was left out.
func without(all []report.LeftOut) string {
	var names []string
	for _, l := range all {
		if !slices.Contains(names, l.Fault) {
			names = append(names, l.Fault)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", without " + units.Clean(units.List(names))
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

// findings lists everything that was found: what was measured, what weakens it, what was
// broken, and what could not be judged.
func (b builder) findings() []Finding {
	out := b.measures()
	broken, open := b.checked(report.Fail, Broken), b.checked(report.Unknown, Open)
	for _, s := range b.interrupted() {
		out = append(out, Finding{Kind: Doubt, Text: units.Capital(s) + "."})
	}
	for _, s := range slices.Concat(b.notPromised(), doubts(open, len(broken) > 0)) {
		out = append(out, Finding{Kind: Note, Text: units.Capital(s) + "."})
	}
	return slices.Concat(out, broken, open)
}

// checked lists the checks of all trials with that result: first what was not played,
// then what is gravest, thresholds last.
func (b builder) checked(result string, kind Kind) []Finding {
	var unplayed, guarantees, thresholds []Finding // what was not played is why the rest could not be judged
	for _, t := range b.Result.Trials {
		label := b.names.Label(t.Cell)
		for _, c := range checks(t) {
			if c.Result != result || c.repeats(t) || t.Step != "" && result != t.Outcome() { // what else is open in a cell that failed says nothing
				continue
			}
			f := Finding{Kind: kind, Of: t.Subject, Where: where(label, t), Under: b.under(t, c), Text: c.Broken, Why: strings.Join(c.Reasons, "; "), Link: b.proof(label, t, c)}
			if t.Step != "" {
				f.Cell = units.Clean(t.Provocation)
			}
			f.Subject = f.Where + underFaults(f.Under)
			switch {
			case c.threshold:
				thresholds = append(thresholds, f)
			case c.What == verdict.Played:
				unplayed = append(unplayed, f)
			default:
				guarantees = append(guarantees, f)
			}
		}
	}
	return slices.Concat(unplayed, gravestFirst(guarantees, func(f Finding) (string, string) { return f.Of, f.Text }), thresholds)
}

// gravestFirst puts the subject first whose broken guarantee is the first of the rules: two
// who hold at once weigh more than a node that is left.
func gravestFirst[T any](all []T, of func(T) (subject, guarantee string)) []T {
	gravest := map[string]int{} // by subject
	for _, x := range all {
		subject, guarantee := of(x)
		rule := math.MaxInt
		if g, ok := verdict.Find(guarantee); ok {
			rule = g.Rule
		}
		if was, ok := gravest[subject]; !ok || rule < was {
			gravest[subject] = rule
		}
	}
	slices.SortStableFunc(all, func(a, b T) int {
		x, _ := of(a)
		y, _ := of(b)
		return cmp.Compare(gravest[x], gravest[y])
	})
	return all
}

// repeats says whether a check only says again what another one of the trial says.
func (c Check) repeats(t report.Trial) bool {
	return c.threshold && strings.HasPrefix(c.What, "verdicts ") &&
		slices.ContainsFunc(t.Verdicts, func(v report.Verdict) bool { return known(v.Result) == c.Result })
}

// under names the faults of a failed check's story; that of a cell is in its name.
func (b builder) under(t report.Trial, c Check) []string {
	for _, s := range b.Stories {
		if c.Result == report.Fail && t.Step == "" && s.Trial.Name == t.Name && s.Guarantee == c.What {
			return s.Under
		}
	}
	return nil
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
	not, without, which := 0, 0, []string(nil)
	for _, t := range b.Result.Trials {
		n := t.Skipped()
		not, without = not+n, without+t.Unproven()-n
		for _, f := range t.Faults {
			if f.Proof == "" && !f.Skipped() && len(which) < namedFaults {
				which = append(which, units.Clean(f.Fault+" in "+cmp.Or(t.Provocation, t.Name)))
			}
		}
	}
	if not > 0 {
		out = append(out, units.Plural(not, "fault")+" could not be injected here and "+was(not)+" skipped")
	}
	if without > 0 {
		if without > len(which) {
			which = append(which, fmt.Sprintf("%d more", without-len(which)))
		}
		out = append(out, units.Plural(without, "fault")+" had "+noProof+": "+units.List(which))
	}
	return out
}

// namedFaults limits how many faults without a proven effect are named.
const namedFaults = 3

// doubts says what else weakens the answer.
func doubts(open []Finding, failed bool) (out []string) {
	unfit := slices.DeleteFunc(slices.Clone(open), func(f Finding) bool { return f.Text != report.Fit })
	if n := len(unfit); n > 0 {
		out = append(out, fmt.Sprintf("%s %s unfit: the numbers may say more about the machine than about the recipe", units.Plural(n, "trial"), was(n)))
	}
	if len(open) > 0 && failed {
		out = append(out, units.Plural(len(open), "result")+" could not be judged")
	}
	return out
}

// notPromised says what the subjects do not promise, and is not held against them.
func (b builder) notPromised() (out []string) {
	var subjects []string
	names := map[string][]string{}
	for _, t := range b.Result.Trials {
		for _, v := range t.Verdicts {
			if v.Result != report.NotPromised || slices.Contains(names[t.Subject], v.Guarantee) {
				continue
			}
			if names[t.Subject] == nil {
				subjects = append(subjects, t.Subject)
			}
			names[t.Subject] = append(names[t.Subject], v.Guarantee)
		}
	}
	for _, s := range subjects {
		out = append(out, fmt.Sprintf("not promised by %s, and not judged: %s", units.Clean(s), units.List(names[s])))
	}
	return out
}

func was(n int) string {
	if n == 1 {
		return "was"
	}
	return "were"
}
