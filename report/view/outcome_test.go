package view

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
)

func TestView_passesOnlyWhenEverythingPassed(t *testing.T) {
	verdict := func(results ...string) report.Trial {
		t := report.Trial{}
		for _, r := range results {
			t.Verdicts = append(t.Verdicts, report.Verdict{Guarantee: "g", Result: r})
		}
		return t
	}
	threshold := verdict(report.Pass)
	threshold.Thresholds = []report.Threshold{{Expr: "e", Result: report.Fail}}
	unprovenFault := verdict(report.Pass)
	unprovenFault.Faults = []report.Fault{{Fault: "f", Err: "no effect"}}
	for _, c := range []struct {
		name   string
		ended  string
		trials []report.Trial
		want   string
	}{
		{"everything passed", "", []report.Trial{verdict(report.Pass, report.Pass)}, report.Pass},
		{"one failure outweighs an unknown", "", []report.Trial{verdict(report.Unknown), verdict(report.Fail)}, report.Fail},
		{"a threshold fails like a verdict", "", []report.Trial{threshold}, report.Fail},
		{"one unknown is not a pass", "", []report.Trial{verdict(report.Pass), verdict(report.Unknown)}, report.Unknown},
		{"a result we do not know is not a pass", "", []report.Trial{verdict("splendid")}, report.Unknown},
		{"a trial without verdicts is not a pass", "", []report.Trial{verdict(report.Pass), verdict()}, report.Unknown},
		{"a fault without proof is not a pass", "", []report.Trial{unprovenFault}, report.Unknown},
		{"an interrupted run is not a pass", "interrupted", []report.Trial{verdict(report.Pass)}, report.Unknown},
		{"no trial is not a pass", "", nil, report.Unknown},
	} {
		r := report.Result{Run: report.Run{Ended: c.ended}, Trials: c.trials}
		v := Of(Input{Result: r})
		if v.Result != c.want {
			t.Errorf("%s: %s, want %s", c.name, v.Result, c.want)
		}
		if c.want != report.Pass && strings.HasPrefix(v.Verdict, "Passed") {
			t.Errorf("%s: the verdict is %q", c.name, v.Verdict)
		}
	}
}
