package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
)

// Check is one thing that a trial was held to: a guarantee, a threshold, that a subject
// which is broken on purpose is caught, or that a fault had an effect.
type Check struct {
	What    string // "fifo", "handoff.latency.p50 < 5ms", "caught by no-orphan"
	Broken  string // what to call it where it did not pass: "not caught by no-orphan"
	Result  string // report.Pass, Fail, Unknown, NotPromised or NotJudged, or [Skipped]
	Reasons []string
	Records []int // of the history, that prove it

	threshold bool
}

// checks lists what a trial was held to. Of a subject that is broken on purpose there is
// only one: its failed verdicts would hide those that nobody expects.
func checks(t report.Trial) []Check {
	if len(t.Expect) > 0 {
		return []Check{specimen(t)}
	}
	var out []Check
	for _, v := range t.Verdicts {
		out = append(out, Check{What: v.Guarantee, Broken: v.Guarantee, Result: known(v.Result), Reasons: v.Reasons, Records: v.Records})
	}
	for _, h := range t.Thresholds {
		out = append(out, Check{What: h.Expr, Broken: h.Expr, Result: known(h.Result), Reasons: []string{heldTo(h.Measured)}, threshold: true})
	}
	if len(t.Verdicts) == 0 {
		out = append(out, Check{What: "judged", Broken: "not judged", Result: report.Unknown, Reasons: []string{"no guarantee was judged"}})
	}
	return out
}

// heldTo says what a threshold has measured. Some of its texts say so themselves.
func heldTo(text string) string {
	switch {
	case text == "":
		return "not measured"
	case strings.HasPrefix(text, "not measured") || strings.HasPrefix(text, "measured "):
		return text
	}
	return "measured " + text
}

// specimen checks that a subject which is broken on purpose was caught.
func specimen(t report.Trial) Check {
	c := Check{What: "caught by " + units.List(t.Expect), Broken: "not caught by " + units.List(t.Missed()), Result: t.Caught()}
	for _, v := range t.Verdicts {
		if slices.Contains(t.Expect, v.Guarantee) && v.Result == report.Fail {
			c.Reasons, c.Records = slices.Concat(c.Reasons, v.Reasons), slices.Concat(c.Records, v.Records)
		}
	}
	for _, name := range t.Missed() {
		became := "was not judged"
		for _, v := range t.Verdicts {
			if v.Guarantee == name {
				became = "is " + strings.Join(append([]string{v.Result}, v.Reasons...), ": ")
			}
		}
		c.Reasons = append(c.Reasons, name+" "+became)
	}
	return c
}

// Suite is every check of one cell. Repetitions of a cell are one suite, with the worst
// of each.
type Suite struct {
	Name   string // of the trial
	Class  string // scenario, subject and count of clients
	Checks []Check
}

// suites lists what was checked. In a zoo a check says what provoked it, since the same
// subject is provoked in many ways. A fault without a proven effect is unknown, and so is
// a trial without a verdict, and a run that ended early.
func (b builder) suites() []Suite {
	var out []Suite
	for _, s := range b.scenarios {
		if audited(s) {
			for _, a := range b.audits(s) {
				out = append(out, a.suite(s.Name))
			}
		}
	}
	for _, t := range b.trials {
		if t.Step != "" {
			continue
		}
		s := Suite{Name: t.Name, Class: fmt.Sprintf("%s.%s.%d", t.Scenario, t.Subject, t.Clients), Checks: checks(t)}
		for i := range s.Checks {
			if t.Provocation != "" {
				s.Checks[i].What += ", provoked by " + t.Provocation
			}
		}
		if len(t.Expect) == 0 {
			s.Checks = append(s.Checks, withoutProof(t)...)
		}
		out = append(out, s)
	}
	for _, l := range b.Result.Run.LeftOut {
		c := Check{What: fmt.Sprintf("fault %s in %s", l.Fault, l.Phase), Result: Skipped, Reasons: []string{"left out: " + l.Why}}
		out = append(out, Suite{Name: "run", Class: "zkbench", Checks: []Check{c}})
	}
	ended := b.Result.Run.Ended
	if ended != "" || len(b.trials) == 0 {
		c := Check{What: "the run was completed", Result: report.Unknown, Reasons: []string{cmp.Or(ended, "no trial was run")}}
		out = append(out, Suite{Name: "run", Class: "zkbench", Checks: []Check{c}})
	}
	return out
}

// withoutProof lists the faults of a trial that had no proven effect.
func withoutProof(t report.Trial) []Check {
	var out []Check
	for _, f := range t.Faults {
		if f.Proof != "" {
			continue
		}
		c := Check{What: fmt.Sprintf("fault %s at %s", history.Struck(f.Fault, f.Target), f.Start.Round(time.Millisecond)), Result: report.Unknown, Reasons: []string{cmp.Or(f.Err, noProof)}}
		if f.Skipped() {
			c.Result = Skipped
		}
		out = append(out, c)
	}
	return out
}

const noProof = "no proven effect"

// known maps a result that nobody knows to unknown.
func known(result string) string {
	switch result {
	case report.Pass, report.Fail, report.NotPromised, report.NotJudged:
		return result
	}
	return report.Unknown
}
