package render

import (
	"encoding/xml"
	"slices"
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

func junitOf(t *testing.T, v *view.View) (got junitRun) {
	t.Helper()
	must(t, xml.Unmarshal(written(t, report.JUnitFile, v), &got))
	return got
}

func TestJUnit_countsEveryCase(t *testing.T) {
	got := junitOf(t, viewOf(t, "broken"))
	// Two broken; two unknown, one trial unjudged, one unproven fault, the end; one skipped fault; one pass.
	if got.Tests != 9 || got.Failures != 2 || got.Errors != 5 || got.Skipped != 1 {
		t.Errorf("tests %d, failures %d, errors %d, skipped %d; want 9, 2, 5, 1", got.Tests, got.Failures, got.Errors, got.Skipped)
	}
}

// A script that a subject was to fail says nothing about another one
// that it was to stand.
func TestJUnit_separatesScripts(t *testing.T) {
	r := load(t, "zoo")
	got := junitOf(t, view.New(view.Input{Result: r}))
	if len(got.Suites) != len(r.Trials) {
		t.Errorf("%d suites of %d trials", len(got.Suites), len(r.Trials))
	}
	var failed []string
	seen := map[string]bool{}
	for _, s := range got.Suites {
		for _, k := range s.Cases {
			if seen[k.Class+k.Name] {
				t.Errorf("two cases are called %s %s", k.Class, k.Name)
			}
			seen[k.Class+k.Name] = true
			if k.Failure != nil {
				failed = append(failed, s.Name+": "+k.Class+": "+k.Name)
			}
		}
	}
	want := []string{
		"zoo-lock-go-zookeeper-holder-expires: zoo.lock/go-zookeeper_script=holder-expires.3: mutual-exclusion, cell holder-expires",
		"zoo-zoo-missed-wakeup-predecessor-leaves: zoo.zoo/missed-wakeup_script=predecessor-leaves.3: caught by progress, cell predecessor-leaves",
	}
	if !slices.Equal(failed, want) {
		t.Errorf("failed: %q, want %q", failed, want)
	}
}

// What is not promised, or not judged, is skipped: it is neither green nor red.
func TestJUnit_skipsWhatDoesNotCount(t *testing.T) {
	for result, want := range map[string]bool{report.NotPromised: true, report.NotJudged: true, report.Unknown: false, report.Pass: false} {
		k := junitCaseOf("c", view.Check{What: "fifo", Result: result, Reasons: []string{"because"}})
		if (k.Skipped != nil) != want || (k.Error != nil) != (result == report.Unknown) || want && k.Skipped.Message != result+": because" {
			t.Errorf("%s: %+v", result, k)
		}
	}
}
