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

// Fit names the verdict on the harness itself: was the machine fit to measure on?
const Fit = verdict.Fit

// Outcome is the result of the run, and decides the exit code: the worst of its trials,
// and unknown at best where it ended early or has none.
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

// Outcome is the worst result of the trial's verdicts and thresholds, and unknown at best
// where a fault is without proof. Of a trial that is broken on purpose it says whether
// it was caught.
func (t Trial) Outcome() string {
	verdicts, thresholds := t.counting()
	results := slices.Concat(verdicts, thresholds)
	if len(t.Verdicts) == 0 && len(t.Expect) == 0 || t.Unproven() > 0 {
		results = append(results, Unknown)
	}
	return verdict.Worst(results...)
}

// counting returns the results of verdicts and of thresholds. Of a trial that is broken
// on purpose only whether it was caught counts.
func (t Trial) counting() (verdicts, thresholds []string) {
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

// Missed returns the guarantees that the subject was to be caught breaking, and was not.
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

// Caught is the result of a trial whose subject is broken on purpose.
func (t Trial) Caught() string {
	switch {
	case len(t.Missed()) == 0:
		return Pass
	case t.Unproven() > 0:
		return Unknown
	}
	for _, v := range t.Verdicts {
		if v.Result == Pass && slices.Contains(t.Expect, v.Guarantee) {
			return Fail // it was judged, and not seen
		}
	}
	return Unknown // there was nothing to judge it by
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

// Inapplicable returns why the recipe does not allow what the trial is about; "" if it does.
func (t Trial) Inapplicable() string {
	for _, v := range t.Verdicts {
		if v.Result == NotJudged && (v.Guarantee == verdict.Faults || v.Guarantee == verdict.Played) {
			return strings.Join(v.Reasons, "; ")
		}
	}
	return ""
}

// Skipped counts those of them that could not be injected on this machine.
func (t Trial) Skipped() int {
	n := 0
	for _, f := range t.Faults {
		if f.Skipped() {
			n++
		}
	}
	return n
}

// Skipped says whether a fault was not injected because this machine cannot.
func (f Fault) Skipped() bool { return f.Proof == "" && strings.HasPrefix(f.Err, "skipped") }

// Tally counts results.
type Tally struct{ Pass, Fail, Unknown int }

// All is how many results were counted.
func (t Tally) All() int { return t.Pass + t.Fail + t.Unknown }

// Add counts results. What is not promised or not judged does not count; anything else
// that is neither pass nor fail is unknown.
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

// Tallies counts the verdicts and the thresholds of trials, as they count for the
// outcome.
func Tallies(trials []Trial) (verdicts, thresholds Tally) {
	for _, t := range trials {
		v, h := t.counting()
		verdicts.Add(v...)
		thresholds.Add(h...)
	}
	return verdicts, thresholds
}
