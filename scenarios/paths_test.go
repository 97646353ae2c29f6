package scenarios

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/verdict"
)

// A holder that ignores the loss of its session is found, and named is the path of its lock; on the other paths, and
// with a sound lock, nothing is.
func TestPaths_aBrokenLockFailsOnItsPath(t *testing.T) {
	t.Parallel()
	files := newRunner(t).play(t, `{name: paths, subjects: [lock/predecessor, zoo/ignores-session-loss], clients: [20], paths: 5, session_timeout: 1s,
		phases: [{name: churn, kind: churn, duration: 12s, hold: 2s, faults: [{on: client 8 holds, at: 100ms, fault: session.close, target: "8"}]}]}`)
	trials := trialsOf(t, files)
	sound(t, trials["paths-lock-predecessor-20"])
	broken := trials["paths-zoo-ignores-session-loss-20"]
	judged(t, broken, verdict.MutualExclusion, report.Fail, "path 3: ", "(1 of 5 paths)")
	judged(t, broken, verdict.Completed, report.Pass)
	for name, trial := range trials {
		if trial.Params["paths"] != "5" {
			t.Errorf("%s has the parameters %v, want 5 paths", name, trial.Params)
		}
	}
}

// Every kind of recipe runs on several paths, in a closed and an open loop: each client uses its own path, and every guarantee is kept.
func TestPaths_everyRecipe(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ subjects, phases string }{
		{"lock/parent, election/predecessor, rwlock/predecessor, semaphore/predecessor",
			"{name: churn, kind: churn, duration: 3s, hold: 5ms, contenders: 8, faults: [{at: 300ms, fault: session.close, target: holder}, {at: 600ms, fault: session.close, target: waiter}]}, {name: stream, kind: stream, duration: 2s, rate: 60, hold: 1ms}"},
		{"queue/predecessor", "{name: churn, kind: churn, duration: 2s, hold: 5ms}, {name: stream, kind: stream, duration: 2s, rate: 60, producers: 8, hold: 1ms}"},
	} {
		files := newRunner(t).play(t, `{name: paths, subjects: [`+row.subjects+`], clients: [12], paths: 4, session_timeout: 2s, phases: [`+row.phases+`]}`)
		for _, file := range files {
			trial := trialOf(t, file)
			sound(t, trial)
			value(t, trial, metrics.Throughput)
			used := map[string]bool{}
			for _, s := range of[*history.Sample](recordsOf(t, file)) {
				if _, rest, below := strings.Cut(s.Path, "/line/path-"); below {
					n, _, _ := strings.Cut(rest, "/")
					if i, err := strconv.Atoi(n); err != nil || i != s.Client%4 {
						t.Errorf("%s: client %d was granted %s", trial.Name, s.Client, s.Path)
					}
					used[n] = true
				}
			}
			if len(used) != 4 && trial.Subject != "queue/predecessor" {
				t.Errorf("%s: grants on paths %v, want 4", trial.Name, slices.Sorted(maps.Keys(used)))
			}
			if n := len(of[*history.Snapshot](recordsOf(t, file))); trial.Subject != "queue/predecessor" && n < 4 {
				t.Errorf("%s: %d snapshots, want one of each path at the end of a phase", trial.Name, n)
			}
		}
	}
}

// Clients on other machines use the same paths.
func TestPaths_onAgents(t *testing.T) {
	t.Parallel()
	h := hire(t, "lock/predecessor", wrongClocks...)
	trial, records := h.play(t, false, `{name: far, subjects: [lock/predecessor], clients: [9], paths: 3, session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 4s, hold: 5ms, faults: [{at: 1s, fault: session.close, target: holder}]}]}`, nil)
	sound(t, trial)
	for _, s := range of[*history.Sample](records) {
		if s.Path != "" && !strings.Contains(s.Path, history.PathNode("/line", s.Client%3)+"/") {
			t.Errorf("client %d was granted %s", s.Client, s.Path)
		}
	}
}
