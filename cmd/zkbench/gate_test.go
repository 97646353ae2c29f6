package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/zkbench/zkbench/report"
)

// gateLimit is the ratio that scenario ci tolerates.
const gateLimit = 1.15

// gateRun runs scenario ci with a subject in place of lock/predecessor and returns
// the exit code, what was measured, and how long it took.
func gateRun(t *testing.T, subject string, args ...string) (code int, x report.Comparison, took time.Duration) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "run")
	args = append([]string{"run", "ci", "--ensemble", "process", "--quiet", "--out", dir, "--ab", "lock/go-zookeeper," + subject, "--trials", "60"}, args...)
	start := time.Now()
	var said bytes.Buffer
	code = run(t.Context(), args, &said, &said)
	took = time.Since(start)
	r, err := report.ReadResult(dir)
	i := slices.IndexFunc(r.Comparisons, func(c report.Comparison) bool { return c.Metric == "handoff.latency.p50" })
	if err != nil || i < 0 {
		t.Fatalf("exit code %d, and hand-offs were not compared: %v\n%s", code, err, &said)
	}
	return code, r.Comparisons[i], took
}

// A small gate on a real ensemble: a recipe of twice the price must never pass, and
// one and the same recipe must never be called slower.
func TestGate(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute")
	}
	small := []string{"--set", "budget=8s", "--set", "extra_time=0s", "--set", "warmup=2s", "--set", "phases.0.rounds=4"}
	// Beside other tests the interval of a few pairs can be so wide that it has the limit.
	code, x, _ := gateRun(t, "lock/slowed-100", small...)
	wide := code == exitUnknown && x.Ratio.Low != nil && *x.Ratio.Low <= gateLimit && x.Ratio.Center > gateLimit
	if code != exitBroken && !wide {
		t.Errorf("twice as slow: exit code %d, want %d: %v", code, exitBroken, x)
	}
	// The load of other tests can slow one side down. So the exit code must follow from what was measured;
	// TestGatePromise shows, on a machine of its own, that the same recipe passes.
	code, x, took := gateRun(t, "lock/slowed-0", small...)
	if slower := x.Ratio.Low != nil && *x.Ratio.Low > gateLimit; slower != (code == exitBroken) {
		t.Errorf("the same recipe: exit code %d after %v: %v", code, took, x)
	}
}

// The promise of scenario ci: the same code passes, and a slowdown of 10 % is found. One of
// 5 % is about what the threshold allows; how often it is found is logged.
// It takes two hours: GATE=20 go test ./cmd/zkbench -run GatePromise -v -timeout 3h
func TestGatePromise(t *testing.T) {
	runs, err := strconv.Atoi(os.Getenv("GATE"))
	if err != nil {
		t.Skip("GATE=20 runs the gate 20 times as it is and 20 times against each of two slowdowns")
	}
	codes := map[string]map[int]int{}
	longest := time.Duration(0)
	for i := range runs {
		for _, subject := range []string{"lock/slowed-0", "lock/slowed-5", "lock/slowed-10"} {
			code, x, took := gateRun(t, subject)
			longest = max(longest, took)
			if codes[subject] == nil {
				codes[subject] = map[int]int{}
			}
			codes[subject][code]++
			t.Logf("run %d, %s: exit code %d after %v: %v", i+1, subject, code, took.Round(time.Second), x)
		}
	}
	t.Logf("exit codes: %v; the longest took %v", codes, longest.Round(time.Second))
	if n := codes["lock/slowed-0"][exitOK]; n < runs {
		t.Errorf("%d of %d runs of the same code pass", n, runs)
	}
	if n := codes["lock/slowed-10"][exitBroken]; n*20 < runs*19 {
		t.Errorf("a slowdown of 10 %% is found in %d of %d runs", n, runs)
	}
	if longest > 210*time.Second {
		t.Errorf("a gate took %v, 75s are promised, and two minutes more where it cannot be told", longest)
	}
}
