package view

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
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
		r := report.Result{Run: report.Run{EndReason: c.ended}, Trials: c.trials}
		v := New(Input{Result: r})
		if v.Result != c.want {
			t.Errorf("%s: %s, want %s", c.name, v.Result, c.want)
		}
		if c.want != report.Pass && strings.HasPrefix(v.Verdict, "Passed") {
			t.Errorf("%s: the verdict is %q", c.name, v.Verdict)
		}
	}
}

// What a subject does not promise is in the tables; it does not count.
func TestView_saysWhatIsNotPromised(t *testing.T) {
	trial := report.Trial{Name: "t", Cell: history.Cell{Scenario: "s", Subject: "lock/mine", Clients: 3}, Verdicts: []report.Verdict{
		{Guarantee: "mutual-exclusion", Result: report.Pass}, {Guarantee: "fifo", Result: report.NotPromised}, {Guarantee: "fan-out", Result: report.NotJudged},
	}}
	again := trial
	again.Name, again.Repetition = "t2", 2
	v := New(Input{Result: report.Result{Trials: []report.Trial{trial, again}}})
	if v.Result != report.Pass || !strings.Contains(v.Verdict, "all 2 verdicts hold") {
		t.Errorf("%s: %s", v.Result, v.Verdict)
	}
	rows := map[string]int{}
	for _, s := range v.Suites {
		for _, c := range s.Checks {
			rows[c.Result]++
		}
	}
	if rows[report.NotPromised] == 0 || rows[report.NotJudged] == 0 {
		t.Errorf("checks by result: %v", rows)
	}
}

// What was left out stands at the top, and where it says that the run passed.
func TestView_saysWhatWasLeftOut(t *testing.T) {
	trial := report.Trial{Name: "a-5", Verdicts: []report.Verdict{{Guarantee: "g", Result: report.Pass}}}
	trial.Scenario, trial.Subject, trial.Clients = "a", "lock/x", 5
	left := []report.SkippedFault{{Phase: "churn", Fault: "partition.isolate", Why: "no root"}}
	v := New(Input{Result: report.Result{Run: report.Run{SkippedFaults: left}, Trials: []report.Trial{trial}}})
	if v.Result != report.Pass || !strings.HasPrefix(v.Verdict, "Passed, without partition.isolate: ") {
		t.Errorf("%s: %s", v.Result, v.Verdict)
	}
	if want := "Skipped faults (not available here): partition.isolate in churn (no root)."; !strings.Contains(v.Description, want) {
		t.Errorf("%q is not in %q", want, v.Description)
	}
	last := v.Suites[len(v.Suites)-1]
	if c := last.Checks[0]; c.Result != Skipped || c.What != "fault partition.isolate in churn" {
		t.Errorf("the last check is %+v", c)
	}
}
