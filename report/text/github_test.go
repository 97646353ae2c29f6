package text

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
)

func TestAnnotations(t *testing.T) {
	var trials []report.Trial
	for range 15 {
		trials = append(trials, report.Trial{Subject: "lock/a", Clients: 5, Verdicts: []report.Verdict{
			{Guarantee: "fifo", Result: report.Fail, Reasons: []string{"100 % wrong\nsecond line"}},
		}})
	}
	trials[0].Verdicts = append(trials[0].Verdicts, report.Verdict{Guarantee: "progress", Result: report.Unknown})
	got := Annotations(report.Result{Run: report.Run{Scenario: "a:b,c", Ended: "interrupted"}, Trials: trials})
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
	if got := Annotations(load(t, "herd")); len(got) != 0 {
		t.Errorf("a run that passed is annotated: %q", got)
	}
}
