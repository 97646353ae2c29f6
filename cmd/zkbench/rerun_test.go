package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// A run that a CI system packed is judged, drawn, and what failed in it is played again:
// that and nothing else.
func TestRerun_playsWhatFailedOfAPackedRun(t *testing.T) {
	t.Parallel()
	c := newCLI(t)
	zkbench := func(want int, args ...string) (said string) {
		t.Helper()
		out, said := c.call(want, args...)
		return out + said
	}
	in := func(path ...string) string { return filepath.Join(append([]string{c.dir}, path...)...) }
	const scenario = `{name: two, subjects: [lock/predecessor, zoo/token-constant], clients: [2], session_timeout: 4s,
		phases: [{name: drain, kind: drain, rounds: 1, hold: 0s}]}`
	must(t, os.WriteFile(in("two.yaml"), []byte(scenario), 0o644))
	zkbench(exitBroken, "run", "two.yaml", "--ensemble", "process", "--members", "1", "--out", "first")
	must(t, os.CopyFS(in("ci"), os.DirFS(in("first"))))

	const bad = "two-zoo-token-constant-2"
	zkbench(exitOK, "report", "first")
	must(t, os.Truncate(report.HistoryPath(in("first"), bad), 40))
	// What failed is not drawn over, and is known however often it is asked.
	contains(t, zkbench(exitUsage, "report", "first"), "restore the file")
	for range 2 {
		said := zkbench(exitBroken, "rerun", "first", "--failed", "--out", "whole", "--force")
		contains(t, said, "not rendered again", bad+": fail then, fail now")
	}

	contains(t, zkbench(exitBroken, "rerun", "ci", "--failed", "--out", "again"), bad+": fail then, fail now")
	r, err := report.ReadResult(in("again"))
	must(t, err)
	if len(r.Trials) != 1 || r.Trials[0].Name != bad || r.Run.Ensemble.Members != 1 {
		t.Errorf("%d trials on %d members, want %s alone on one", len(r.Trials), r.Run.Ensemble.Members, bad)
	}
	for _, folder := range []string{"ci", "again"} {
		if _, err := os.Stat(in(folder, "report.html")); err != nil {
			t.Error(err)
		}
		if text, err := os.ReadFile(in(folder, "plan", bad+".yaml")); err != nil || !strings.Contains(string(text), bad) {
			t.Errorf("%s has the plan %q: %v", folder, text, err)
		}
	}
}

// Without its scenario a run cannot be repeated; a file in the place of the new folder stays.
func TestRerun_ofAFolderThatLacksItsScenario(t *testing.T) {
	c := newCLI(t)
	run, file := filepath.Join(c.dir, "run"), filepath.Join(c.dir, "file")
	must(t, os.CopyFS(run, os.DirFS(filepath.Join("testdata", "run"))))
	must(t, os.WriteFile(file, []byte("mine"), 0o644))
	_, said := c.call(exitUsage, "rerun", "run", "--out", "file")
	contains(t, said, "--out file: ", "not a directory")
	if text, err := os.ReadFile(file); err != nil || string(text) != "mine" {
		t.Errorf("the file of the user is %q (%v)", text, err)
	}
	must(t, os.Remove(filepath.Join(run, report.ScenarioFile)))
	_, said = c.call(exitUsage, "rerun", "run")
	contains(t, said, "run/scenario.yaml does not exist", "restore it, or run the scenario anew with zkbench run ")
}

func TestRerun_ofAnAuditPlaysTheCellsThatFailed(t *testing.T) {
	trial := func(subject, cell, result string, k int) report.Trial {
		step, fault, _ := strings.Cut(cell, "/")
		return report.Trial{Name: "audit-" + strings.NewReplacer("/", "-", " #", "-", " ", "-").Replace(subject+"-"+cell), Repetition: k,
			Cell:     history.Cell{Scenario: "audit", Subject: subject, Clients: 3, Script: cell, Step: step, Fault: fault},
			Verdicts: []report.Verdict{{Guarantee: "fifo", Result: result}}}
	}
	calm := trial("lock/parent", "all/calm", report.Fail, 2)
	calm.Name += "-2"
	old := report.Result{Run: report.Run{Seed: 7, Scenario: "audit"}, Trials: []report.Trial{calm,
		trial("lock/predecessor", "holder delete #1/reply.drop", report.Fail, 0), trial("lock/predecessor", "all/crowd", report.Pass, 0)}}
	f := parsed(t)
	f.selectTrials(old, failures(old))
	configs, err := f.configs([]string{"audit"}, t.Logf)
	must(t, err)
	want := []string{"audit-lock-parent-all-calm", "audit-lock-predecessor-holder-delete-1-reply.drop"}
	if got := configs[0].Scenario.Only; !slices.Equal(got, want) {
		t.Errorf("plays %v, want %v", got, want)
	}
}

// What is compared with a base is nothing without it.
func TestFailures(t *testing.T) {
	trial := func(name, subject, base, result string) report.Trial {
		return report.Trial{Name: name, Cell: history.Cell{Subject: subject, Base: base}, Verdicts: []report.Verdict{{Guarantee: "fifo", Result: result}}}
	}
	for want, trials := range map[string][]report.Trial{
		"a":      {trial("a", "x", "", report.Fail), trial("b", "y", "", report.Pass), trial("c", "y", "", report.Unknown)},
		"a a2 b": {trial("a", "x", "y", report.Fail), trial("a2", "x", "y", report.Pass), trial("b", "y", "y", report.Pass), trial("c", "z", "y", report.Pass)},
		"":       {trial("a", "x", "", report.Pass)},
	} {
		var got []string
		for _, x := range failures(report.Result{Trials: trials}) {
			got = append(got, x.Name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}

// A run's faults can be played again: the plan is the same, byte for byte. And a fault
// that does nothing, both times, makes the run one that could not be judged.
func TestRun_replayOfAFaultWithoutEffect(t *testing.T) {
	r := startHerd(t, "--seed", "7", "--set", "phases.1.duration=2s",
		"--set", "phases.1.faults=[{at: 200ms, jitter: 100ms, fault: request.drop, params: {path: /nobody/asks, within: 500ms}}]")
	r.end(exitUnknown)
	again := filepath.Join(r.dir, "again")
	out, _ := r.call(exitUnknown, "run", "--replay", r.out, "--out", again)
	contains(t, out, "no proven effect")
	const plan = "plan/herd-lock-predecessor-3.yaml"
	first, err := os.ReadFile(filepath.Join(r.out, plan))
	must(t, err)
	second, err := os.ReadFile(filepath.Join(again, plan))
	must(t, err)
	if string(first) != string(second) || !strings.Contains(string(first), "request.drop") {
		t.Errorf("the plans differ:\n%s\n%s", first, second)
	}
	r.gone()
}
