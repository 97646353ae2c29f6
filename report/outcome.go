package report

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report/verdict"
)

// The results of a verdict, a threshold, a trial or a run.
const (
	Pass    = verdict.Pass
	Fail    = verdict.Fail
	Unknown = verdict.Unknown

	NotPromised = verdict.NotPromised // as a verdict only
	NotJudged   = verdict.NotJudged
)

// Fit names the verdict on the harness itself: whether the machine and the harness were fast
// enough for valid measurements.
const Fit = verdict.Fit

// Outcome returns the result of the run, which determines the exit code: the worst result of its
// trials. It is at best unknown if the run ended early or has no trials.
func (r Result) Outcome() string {
	var results []string
	for _, t := range r.Trials {
		results = append(results, t.Outcome())
	}
	if r.Run.Ended != "" {
		results = append(results, Unknown)
	}
	return verdict.Worst(results...)
}

// Outcome returns the worst result of the trial's verdicts and thresholds. It is at best unknown if
// a fault has no proof. For a deliberately broken subject it depends on whether the defect was
// detected, see [Trial.Caught].
func (t Trial) Outcome() string {
	verdicts, thresholds := t.countedResults()
	results := slices.Concat(verdicts, thresholds)
	if len(t.Verdicts) == 0 && len(t.Expect) == 0 || t.Unproven() > 0 {
		results = append(results, Unknown)
	}
	return verdict.Worst(results...)
}

// countedResults returns the results that count for the outcome. For a deliberately broken subject
// only the detection of its defect counts.
func (t Trial) countedResults() (verdicts, thresholds []string) {
	if len(t.Expect) > 0 {
		return []string{t.Caught()}, nil
	}
	for _, v := range t.Verdicts {
		verdicts = append(verdicts, v.Result)
	}
	for _, h := range t.Thresholds {
		thresholds = append(thresholds, h.Result)
	}
	return verdicts, thresholds
}

// Missed returns the expected violations that were not detected.
func (t Trial) Missed() []string {
	var missed []string
	for _, name := range t.Expect {
		broken := slices.ContainsFunc(t.Verdicts, func(v Verdict) bool { return v.Guarantee == name && v.Result == Fail })
		if !broken {
			missed = append(missed, name)
		}
	}
	return missed
}

// Caught returns the result of a trial whose subject is deliberately broken: pass if each expected
// violation was detected.
func (t Trial) Caught() string {
	switch {
	case len(t.Missed()) == 0:
		return Pass
	case t.Unproven() > 0:
		return Unknown
	}
	for _, v := range t.Verdicts {
		if v.Result == Pass && slices.Contains(t.Expect, v.Guarantee) {
			return Fail // the guarantee was checked, but its violation not detected
		}
	}
	return Unknown
}

// Unproven counts the faults of the trial whose effect was not proven.
func (t Trial) Unproven() int {
	n := 0
	for _, f := range t.Faults {
		if f.Proof == "" {
			n++
		}
	}
	return n
}

// Inapplicable returns the reason why the trial does not apply to the recipe; "" if it applies.
func (t Trial) Inapplicable() string {
	for _, v := range t.Verdicts {
		if v.Result == NotJudged && (v.Guarantee == verdict.Faults || v.Guarantee == verdict.Played) {
			return strings.Join(v.Reasons, "; ")
		}
	}
	return ""
}

// Skipped counts the unproven faults that could not be injected on this machine.
func (t Trial) Skipped() int {
	n := 0
	for _, f := range t.Faults {
		if f.Skipped() {
			n++
		}
	}
	return n
}

// Skipped reports whether the fault was not injected because this machine cannot inject it.
func (f Fault) Skipped() bool { return f.Proof == "" && strings.HasPrefix(f.Err, "skipped") }

// Tally counts results.
type Tally struct{ Pass, Fail, Unknown int }

// All returns the number of results.
func (t Tally) All() int { return t.Pass + t.Fail + t.Unknown }

// Add counts results. The results "not promised" and "not exercised" do not count; any other result
// that is neither pass nor fail counts as unknown.
func (t *Tally) Add(results ...string) {
	for _, r := range results {
		switch {
		case r == Pass:
			t.Pass++
		case r == Fail:
			t.Fail++
		case verdict.Counts(r):
			t.Unknown++
		}
	}
}

// Tallies counts the verdicts and thresholds that determine the outcome of the trials.
func Tallies(trials []Trial) (verdicts, thresholds Tally) {
	for _, t := range trials {
		v, h := t.countedResults()
		verdicts.Add(v...)
		thresholds.Add(h...)
	}
	return verdicts, thresholds
}
