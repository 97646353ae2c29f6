// Package text writes what a run found in words, tables and the formats that
// other tools read: the summary on a terminal, summary.md for a pull request,
// junit.xml for CI, bench.txt for benchstat.
package text

import (
	"fmt"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// Tally counts results.
type Tally struct{ Pass, Fail, Unknown int }

// All is how many results were counted.
func (t Tally) All() int { return t.Pass + t.Fail + t.Unknown }

// count adds a result. Anything that is neither pass nor fail is unknown.
func (t *Tally) count(result string) {
	switch result {
	case report.Pass:
		t.Pass++
	case report.Fail:
		t.Fail++
	default:
		t.Unknown++
	}
}

// Tallies counts the verdicts and the thresholds of trials.
func Tallies(trials []report.Trial) (verdicts, thresholds Tally) {
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

// Outcome is the result of the whole run: fail when anything failed, otherwise
// unknown when anything is unknown, the run ended early, or a trial has no
// verdict at all; pass only when everything passed.
func Outcome(r report.Result) string {
	verdicts, thresholds := Tallies(r.Trials)
	if verdicts.Fail+thresholds.Fail > 0 {
		return report.Fail
	}
	if verdicts.Unknown+thresholds.Unknown > 0 || r.Run.Ended != "" || len(r.Trials) == 0 {
		return report.Unknown
	}
	for _, t := range r.Trials {
		if TrialOutcome(t) != report.Pass {
			return report.Unknown
		}
	}
	return report.Pass
}

// TrialOutcome is the result of one trial, by the same rule.
func TrialOutcome(t report.Trial) string {
	verdicts, thresholds := Tallies([]report.Trial{t})
	switch {
	case verdicts.Fail+thresholds.Fail > 0:
		return report.Fail
	case verdicts.Unknown+thresholds.Unknown > 0 || verdicts.All() == 0 || unproven(t) > 0:
		return report.Unknown
	}
	return report.Pass
}

// unproven counts the faults of a trial whose effect was not proven.
func unproven(t report.Trial) int {
	n := 0
	for _, f := range t.Faults {
		if f.Proof == "" {
			n++
		}
	}
	return n
}

// Skipped says whether a fault was not injected because this machine cannot.
func Skipped(f report.Fault) bool { return f.Proof == "" && strings.HasPrefix(f.Err, "skipped") }

func skippedFaults(t report.Trial) int {
	n := 0
	for _, f := range t.Faults {
		if Skipped(f) {
			n++
		}
	}
	return n
}

// finding is one result that is not a pass.
type finding struct {
	where  string // names the trial in a sentence
	what   string
	reason string
}

// findings lists the verdicts and thresholds with that result. The trials are all those
// of a run, or one where nobody asks where it was found.
func findings(trials []report.Trial, fail bool) []finding {
	names := matrix.NamesOf(trials)
	wanted := func(result string) bool {
		if fail {
			return result == report.Fail
		}
		return result != report.Fail && result != report.Pass
	}
	var out []finding
	for _, t := range trials {
		at := where(names.Label(t), t)
		if len(t.Expect) > 0 {
			if result := caught(t); wanted(result) {
				out = append(out, finding{at, "not caught by " + list(t.Missed()), overlooked(t)})
			}
			continue
		}
		for _, v := range t.Verdicts {
			if wanted(v.Result) {
				out = append(out, finding{at, v.Guarantee, strings.Join(v.Reasons, "; ")})
			}
		}
		for _, h := range t.Thresholds {
			if wanted(h.Result) {
				out = append(out, finding{at, h.Expr, measured(h)})
			}
		}
		if len(t.Verdicts) == 0 && !fail {
			out = append(out, finding{at, "not judged", "the trial has no verdict at all"})
		}
	}
	return out
}

func measured(h report.Threshold) string {
	if h.Measured == "" {
		return "not measured"
	}
	return "measured " + h.Measured
}

// where names a trial in a sentence, given the label of its series. Nothing else in the
// run has the same name.
func where(label string, t report.Trial) string {
	if t.Subject == "" { // its history could not be opened
		return units.Clean(t.Name)
	}
	s := fmt.Sprintf("%s at %s", label, units.Plural(t.Clients, "contender"))
	if n := t.Repetition; n > 0 {
		s += fmt.Sprintf(", trial %d", n)
	}
	return s
}
