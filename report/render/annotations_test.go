package render

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/view"
)

func TestAnnotations_areAsManyAsGitHubShows(t *testing.T) {
	var trials []report.Trial
	for range 15 {
		trials = append(trials, report.Trial{Cell: history.Cell{Subject: "lock/a", Clients: 5}, Verdicts: []report.Verdict{
			{Guarantee: "fifo", Result: report.Fail, Reasons: []string{"100 % wrong\nsecond line"}},
		}})
	}
	trials[0].Verdicts = append(trials[0].Verdicts, report.Verdict{Guarantee: "progress", Result: report.Unknown})
	got := Annotations(view.New(view.Input{Result: report.Result{Run: report.Run{Scenario: "a:b,c", EndReason: "interrupted"}, Trials: trials}}))
	kinds := map[string]int{}
	for _, line := range got {
		kind, _, _ := strings.Cut(strings.TrimPrefix(line, "::"), " ")
		kinds[kind]++
		if strings.Contains(line, "\n") {
			t.Errorf("%q is more than one line", line)
		}
	}
	if kinds["error"] != 10 || kinds["warning"] != 2 {
		t.Errorf("%v, want ten errors, which is all that GitHub shows, and two warnings", kinds)
	}
	if want := "::error title=zkbench a%3Ab%2Cc::fifo in lock/a at 5 contenders: 100 %25 wrong second line"; got[0] != want {
		t.Errorf("%q, want %q", got[0], want)
	}
	if got := Annotations(viewOf(t, "herd")); len(got) != 0 {
		t.Errorf("a run that passed is annotated: %q", got)
	}
}

// Whatever a sentence says, it says of which cell, and in which trial.
func TestAnnotations_nameCellAndTrial(t *testing.T) {
	v := viewOf(t, "matrix")
	all := v.Verdict + "\n" + strings.Join(Annotations(v), "\n")
	for _, f := range v.Findings {
		all += "\n" + f.String()
	}
	for _, want := range []string{
		"Failed (1 of 2 subjects): progress in 1 trial and handoff.latency.p50 < 5ms in 2 trials, first in lock/parent session_timeout=10s at 5 contenders, trial 2.",
		"At 5 contenders, there are too few pairs of trials to compare handoff.latency.p50 of lock/predecessor session_timeout=4s: 0.250",
		"At 5 contenders, there are too few pairs of trials to compare handoff.latency.p50 of lock/predecessor session_timeout=10s: 0.270",
		"::handoff.latency.p50 < 5ms in lock/parent session_timeout=10s at 5 contenders, trial 1: measured 5.28 ms",
		"::handoff.latency.p50 < 5ms in lock/parent session_timeout=10s at 5 contenders, trial 2: measured 5.76 ms",
		"::progress in lock/parent session_timeout=10s at 5 contenders, trial 2: nobody",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("it does not say %q, but\n%s", want, all)
		}
	}
}
