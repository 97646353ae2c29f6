package view

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
)

// tally counts results.
type tally struct{ pass, fail, unknown int }

func (t tally) all() int { return t.pass + t.fail + t.unknown }

// count adds a result. Anything that is neither pass nor fail is unknown.
func (t *tally) count(result string) {
	switch known(result) {
	case report.Pass:
		t.pass++
	case report.Fail:
		t.fail++
	default:
		t.unknown++
	}
}

// known maps anything but pass and fail to unknown.
func known(result string) string {
	if result == report.Pass || result == report.Fail {
		return result
	}
	return report.Unknown
}

// tallies counts the verdicts and the thresholds of trials.
func tallies(trials []report.Trial) (verdicts, thresholds tally) {
	for _, t := range trials {
		if len(t.Expect) > 0 { // broken on purpose: caught or not is all that counts
			verdicts.count(caught(t))
			continue
		}
		for _, v := range t.Verdicts {
			verdicts.count(v.Result)
		}
		for _, h := range t.Thresholds {
			thresholds.count(h.Result)
		}
	}
	return verdicts, thresholds
}

// outcome is the result of the whole run: fail when anything failed, otherwise unknown
// when anything is unknown, the run ended early, or a trial has no verdict at all; pass
// only when everything passed.
func outcome(r report.Result) string {
	result := report.Pass
	if r.Run.Ended != "" || len(r.Trials) == 0 {
		result = report.Unknown
	}
	for _, t := range r.Trials {
		switch outcomeOf(t) {
		case report.Fail:
			return report.Fail
		case report.Unknown:
			result = report.Unknown
		}
	}
	return result
}

// outcomeOf is the result of one trial, by the same rule.
func outcomeOf(t report.Trial) string {
	verdicts, thresholds := tallies([]report.Trial{t})
	switch {
	case verdicts.fail+thresholds.fail > 0:
		return report.Fail
	case verdicts.unknown+thresholds.unknown > 0 || verdicts.all() == 0 || unproven(t) > 0:
		return report.Unknown
	}
	return report.Pass
}

// caught is the result of a trial whose subject is broken on purpose: it passes when
// every verdict that must catch it has.
func caught(t report.Trial) string {
	switch {
	case len(t.Missed()) == 0:
		return report.Pass
	case unproven(t) > 0:
		return report.Unknown
	}
	for _, v := range t.Verdicts {
		if v.Result == report.Pass && slices.Contains(t.Expect, v.Guarantee) {
			return report.Fail // it was judged, and not seen
		}
	}
	return report.Unknown // there was nothing to judge it by
}

// unproven counts the faults of a trial whose effect was not proven.
func unproven(t report.Trial) int {
	return countFaults(t, func(f report.Fault) bool { return f.Proof == "" })
}

// skipped says whether a fault was not injected because this machine cannot.
func skipped(f report.Fault) bool { return f.Proof == "" && strings.HasPrefix(f.Err, "skipped") }

func countFaults(t report.Trial, which func(report.Fault) bool) (n int) {
	for _, f := range t.Faults {
		if which(f) {
			n++
		}
	}
	return n
}
