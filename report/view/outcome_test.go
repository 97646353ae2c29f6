package view

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// The verdict says that a run passed only if it did: see the test of report.Result.Outcome.
func TestView_passesOnlyWhenEverythingPassed(t *testing.T) {
	unnamed := func(result string) report.Trial {
		return report.Trial{Verdicts: []report.Verdict{{Guarantee: "g", Result: result}}}
	}
	threshold, unproven := unnamed(report.Pass), unnamed(report.Pass)
	threshold.Thresholds = []report.Threshold{{Expr: "e", Result: report.Fail}}
	unproven.Faults = []report.Fault{{Fault: "f", Err: "no effect"}}
	for name, r := range map[string]report.Result{
		"a failure":                {Trials: []report.Trial{unnamed(report.Unknown), unnamed(report.Fail)}},
		"a threshold":              {Trials: []report.Trial{threshold}},
		"a result we do not know":  {Trials: []report.Trial{unnamed("splendid")}},
		"a trial without verdicts": {Trials: []report.Trial{unnamed(report.Pass), {}}},
		"a fault without proof":    {Trials: []report.Trial{unproven}},
		"an interrupted run":       {Run: report.Run{EndReason: "interrupted"}, Trials: []report.Trial{unnamed(report.Pass)}},
		"a run without trials":     {},
	} {
		if v := New(Input{Result: r}); v.Result != r.Outcome() || strings.HasPrefix(v.Verdict, "Passed") {
			t.Errorf("%s: %s, %q", name, v.Result, v.Verdict)
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
	if strings.Contains(v.Verdict, "Not tested") {
		t.Errorf("only mutual exclusion is in the summary: %s", v.Verdict)
	}
	trial.Verdicts[0].Result, trial.Verdicts[1].Result = report.NotPromised, report.Pass
	if v := New(Input{Result: report.Result{Trials: []report.Trial{trial}}}); !strings.HasSuffix(v.Verdict, " holds. Not tested: mutual-exclusion of lock/mine, because it was not promised.") {
		t.Error(v.Verdict)
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
