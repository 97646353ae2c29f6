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

// TrialOutcome is the result of one trial.
func TrialOutcome(t report.Trial) string { return t.Outcome() }

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
			if result := t.Caught(); wanted(result) {
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
