package main

import (
	"os"
	"os/exec"
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
	dir := t.TempDir()
	state := []string{"ZKBENCH_STATE=" + filepath.Join(dir, "state"), "DOCKER_HOST=unix:///nonexistent/docker.sock"}
	zkbench := func(want int, args ...string) string {
		t.Helper()
		cmd := exec.Command("zkbench", args...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), state...)
		said, _ := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != want {
			t.Fatalf("%v: exit code %d, want %d; it said:\n%s", args, code, want, said)
		}
		return string(said)
	}
	const scenario = `{name: two, subjects: [lock/predecessor, zoo/token-constant], clients: [2], session_timeout: 4s,
		phases: [{name: drain, kind: drain, rounds: 1, hold: 0s}]}`
	if err := os.WriteFile(filepath.Join(dir, "two.yaml"), []byte(scenario), 0o644); err != nil {
		t.Fatal(err)
	}
	zkbench(exitBroken, "run", "two.yaml", "--ensemble", "process", "--members", "1", "--out", "first")
	if err := os.CopyFS(filepath.Join(dir, "ci"), os.DirFS(filepath.Join(dir, "first"))); err != nil {
		t.Fatal(err)
	}

	const bad = "two-zoo-token-constant-2"
	zkbench(exitOK, "report", "first")
	if err := os.Truncate(report.HistoryPath(filepath.Join(dir, "first"), bad), 40); err != nil {
		t.Fatal(err)
	}
	if said := zkbench(exitUsage, "report", "first"); !strings.Contains(said, "restore the file") {
		t.Errorf("what failed is drawn over:\n%s", said)
	}
	for range 2 { // what failed is known however often it is asked
		said := zkbench(exitBroken, "rerun", "first", "--failed", "--out", "whole", "--force")
		if !strings.Contains(said, "not rendered again") || !strings.Contains(said, bad+": fail then, fail now") {
			t.Errorf("of a damaged run:\n%s", said)
		}
	}

	said := zkbench(exitBroken, "rerun", "ci", "--failed", "--out", "again")
	if !strings.Contains(said, bad+": fail then, fail now") {
		t.Errorf("it does not say that %s failed again:\n%s", bad, said)
	}
	r, err := report.ReadResult(filepath.Join(dir, "again"))
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Trials) != 1 || r.Trials[0].Name != bad || r.Run.Ensemble.Members != 1 {
		t.Errorf("%d trials on %d members, want %s alone on one", len(r.Trials), r.Run.Ensemble.Members, bad)
	}
	for _, file := range []string{"ci/report.html", "again/report.html"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil {
			t.Error(err)
		}
	}
	for _, plan := range []string{"first", "again"} {
		if text, err := os.ReadFile(filepath.Join(dir, plan, "plan", bad+".yaml")); err != nil || !strings.Contains(string(text), bad) {
			t.Errorf("%s has the plan %q: %v", plan, text, err)
		}
	}
}

func TestRerun_ofAnAuditPlaysTheCellsThatFailed(t *testing.T) {
	trial := func(subject, cell, result string, k int) report.Trial {
		step, fault, _ := strings.Cut(cell, "/")
		return report.Trial{Name: "audit-" + strings.NewReplacer("/", "-", " #", "-", " ", "-").Replace(subject+"-"+cell), Repetition: k,
			Cell:     history.Cell{Scenario: "audit", Subject: subject, Clients: 3, Provocation: cell, Step: step, Fault: fault},
			Verdicts: []report.Verdict{{Guarantee: "fifo", Result: result}}}
	}
	calm := trial("lock/parent", "all/calm", report.Fail, 2)
	calm.Name += "-2"
	old := report.Result{Run: report.Run{Seed: 7, Scenario: "audit"}, Trials: []report.Trial{calm,
		trial("lock/predecessor", "holder delete #1/reply.drop", report.Fail, 0), trial("lock/predecessor", "all/crowd", report.Pass, 0)}}
	f := parsed(t)
	f.selectTrials(old, failures(old))
	configs, err := f.configs([]string{"audit"}, t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	s := configs[0].Scenario
	want := []string{"audit-lock-parent-all-calm", "audit-lock-predecessor-holder-delete-1-reply.drop"}
	if !slices.Equal(s.Only, want) {
		t.Errorf("plays %v, want %v", s.Only, want)
	}
}

// What is compared with a base is nothing without it.
func TestFailures(t *testing.T) {
	trial := func(name, subject, base, result string) report.Trial {
		return report.Trial{Name: name, Cell: history.Cell{Subject: subject, Base: base}, Verdicts: []report.Verdict{{Guarantee: "fifo", Result: result}}}
	}
	for _, row := range []struct {
		about  string
		trials []report.Trial
		want   string
	}{
		{"those that failed", []report.Trial{trial("a", "x", "", report.Fail), trial("b", "y", "", report.Pass), trial("c", "y", "", report.Unknown)}, "a"},
		{"of a comparison all of both", []report.Trial{trial("a", "x", "y", report.Fail), trial("a2", "x", "y", report.Pass), trial("b", "y", "y", report.Pass), trial("c", "z", "y", report.Pass)}, "a a2 b"},
		{"nothing", []report.Trial{trial("a", "x", "", report.Pass)}, ""},
	} {
		t.Run(row.about, func(t *testing.T) {
			var got []string
			for _, x := range failures(report.Result{Trials: row.trials}) {
				got = append(got, x.Name)
			}
			if strings.Join(got, " ") != row.want {
				t.Errorf("%v, want %s", got, row.want)
			}
		})
	}
}

// A run's faults can be played again: the plan is the same, byte for byte. And a fault
// that does nothing, both times, makes the run one that could not be judged.
func TestRun_replayOfAFaultWithoutEffect(t *testing.T) {
	r := startHerd(t, "--seed", "7", "--set", "phases.1.duration=2s",
		"--set", "phases.1.faults=[{at: 200ms, jitter: 100ms, fault: request.drop, params: {path: /nobody/asks, within: 500ms}}]")
	if code := r.end(); code != "3" {
		t.Errorf("exit code %s, want 3; it said:\n%s", code, strings.Join(r.said, "\n"))
	}
	again := filepath.Join(t.TempDir(), "again")
	cmd := r.command("run", "--replay", r.out, "--out", again)
	said, err := cmd.Output()
	if code := cmd.ProcessState.ExitCode(); code != exitUnknown {
		t.Errorf("exit code %d (%v), want %d; it said:\n%s", code, err, exitUnknown, said)
	}
	if !strings.Contains(string(said), "no proven effect") {
		t.Errorf("it does not say that the fault did nothing:\n%s", said)
	}
	const plan = "plan/herd-lock-predecessor-3.yaml"
	first, err := os.ReadFile(filepath.Join(r.out, plan))
	if err != nil {
		t.Fatal(err)
	}
	second, err := os.ReadFile(filepath.Join(again, plan))
	if err != nil {
		t.Fatal(err)
	}
	if string(first) != string(second) || !strings.Contains(string(first), "request.drop") {
		t.Errorf("the plans differ:\n%s\n%s", first, second)
	}
	r.gone()
}
