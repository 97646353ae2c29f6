package scenarios

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/metrics"
)

func TestFailover_isWithinThePrediction(t *testing.T) {
	trial := runTrials(t, `
name: failing
subjects: [election/parent]
clients: [3]
session_timeout: 2s
params: {slack: 3s}
phases:
  - {name: release, kind: failover, cause: release, rounds: 2, hold: 1ms}
  - {name: close, kind: failover, cause: close, rounds: 1, hold: 1ms}
  - {name: expel, kind: failover, cause: expel, rounds: 1, hold: 1ms}
  - {name: crash, kind: failover, cause: crash, rounds: 1, hold: 1ms}
  - {name: freeze, kind: failover, cause: freeze, rounds: 1, hold: 1ms}
  - {name: left-out, kind: failover, cause: leader.kill, rounds: 0, hold: 1ms}
  - {name: server-kill, kind: failover, cause: server.kill, rounds: 1, hold: 1ms}
  - {name: crash-leader-kill, kind: failover, cause: crash+leader.kill, rounds: 1, hold: 1ms}
thresholds: [failover.out_of_bounds == 0]
`)["failing-election-parent-3"]
	sound(t, trial)
	switch m := trial.Metrics[metrics.FailoverOutside]; {
	case m.Count == nil || *m.Count != 8:
		t.Errorf("%s: %+v, want 8 rounds", trial.Name, m)
	case m.Value == nil:
		t.Logf("%s: the machine was too busy to judge each round: %s", trial.Name, m.Note)
	case *m.Value != 0:
		t.Errorf("%s: %v rounds are outside the prediction: %s", trial.Name, *m.Value, m.Note)
	}
	for _, phase := range []string{"release", "close", "expel", "crash", "freeze", "server-kill", "crash-leader-kill"} {
		if m := trial.Metrics[metrics.FailoverLatency+"."+phase]; m.Count == nil {
			t.Errorf("%s: %s was not measured", trial.Name, phase)
		}
	}
	for _, stage := range metrics.Stages {
		if m := trial.Metrics[stage]; m.Count == nil || *m.Count != 3 {
			t.Errorf("%s: %s should be seen in each of 3 rounds: %+v", trial.Name, stage, m)
		}
	}
	crash := trial.Metrics[metrics.FailoverLatency+".crash"]
	if crash.Min != nil && *crash.Min < float64(time.Second) {
		t.Errorf("%s: a session of 2s had run out after %v", trial.Name, time.Duration(*crash.Min))
	}
	if m := trial.Metrics[metrics.RecoveryTime]; m.Count == nil || *m.Count != 2 {
		t.Errorf("%s: the ensemble should have recovered from 2 faults: %+v", trial.Name, m)
	}
}

// A holder whose member is killed keeps its session, and the wire shows that, where its recipe
// says nothing of it: because it never does, or although it says when a grant is lost.
func TestFailover_ofAHolderThatIsNotTold(t *testing.T) {
	// filtered passes on the events that pass lets through.
	filtered := func(name string, pass func(recipes.Event) bool) recipes.Subject {
		s := subject("lock/go-zookeeper")
		s.Name = name
		open := s.Open
		s.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
			tell := env.Events
			env.Events = func(e recipes.Event) {
				if pass(e) {
					tell(e)
				}
			}
			return open(ctx, env)
		}
		return s
	}
	silent := filtered("test/silent", func(recipes.Event) bool { return false })
	silent.Promises.Events = false
	quiet := filtered("test/quiet", func(e recipes.Event) bool { return e.Kind == recipes.EventLost })
	recipes.Register(silent)
	recipes.Register(quiet)
	for _, trial := range runTrials(t, `{name: untold, subjects: [test/silent, test/quiet], clients: [3], session_timeout: 2s, params: {slack: 3s},
		phases: [{name: server-kill, kind: failover, cause: server.kill, rounds: 1, hold: 1ms}], thresholds: [failover.out_of_bounds == 0]}`) {
		sound(t, trial)
		if m := value(t, trial, metrics.FailoverOutside); *m.Value != 0 || *m.Count != 1 {
			t.Errorf("%s: %v of %v rounds are outside the prediction: %s", trial.Name, *m.Value, *m.Count, m.Note)
		}
	}
}

func TestChurn_faultsAtEvents(t *testing.T) {
	trial := runTrials(t, `
name: events
subjects: [lock/predecessor]
clients: [4]
session_timeout: 2s
phases:
  - name: churn
    kind: churn
    duration: 15s
    hold: 20ms
    faults:
      - {on: client 2 holds, fault: session.close, target: "2"}
      - {on: 50% wait, at: 100ms, every: 700ms, times: 2, fault: session.flap, target: "1", params: {down: 50ms}}
      - {on: 5 grants, at: 2s, fault: member.pause, target: follower, for: 1s}
`)["events-lock-predecessor-4"]
	nothingFailed(t, trial) // there is no quiet time in which progress could be judged
	count := map[string]int{}
	for _, f := range trial.Faults {
		if f.Err != "" {
			t.Errorf("%s: %s", f.Fault, f.Err)
		}
		count[f.Fault]++
	}
	if count["session.close"] != 1 || count["session.flap"] != 2 || count["member.pause"] != 1 {
		t.Errorf("faults: %v", count)
	}
	if m := trial.Metrics[metrics.RecoveryTime]; m.Count == nil || *m.Count != 1 {
		t.Errorf("the ensemble should have recovered once: %+v", m)
	}
	if m := value(t, trial, metrics.ConnectionsPeak); *m.Value <= 0 {
		t.Errorf("the members took no connections")
	}
}

// A fault that does nothing makes the trial unknown: it must not look as if the
// subject had withstood it.
func TestChurn_faultWithoutEffect(t *testing.T) {
	t.Parallel()
	trial := runTrials(t, `{name: harmless, subjects: [lock/predecessor], clients: [2], session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 2s, hold: 1ms, faults: [
			{at: 100ms, fault: request.drop, target: holder, params: {path: /nobody/asks/for/this, within: 500ms}}]}],
		thresholds: [verdicts == pass]}`)["harmless-lock-predecessor-2"]
	if len(trial.Faults) != 1 || !strings.Contains(trial.Faults[0].Err, "no proven effect") {
		t.Errorf("faults: %+v", trial.Faults)
	}
	if got := trial.Thresholds[0]; got.Result != report.Unknown {
		t.Errorf("%s is %s (%s), want %s", got.Expr, got.Result, got.Measured, report.Unknown)
	}
}

// A leader whose session expires continues in its next session, where it is in line again: it must be closed before
// the next round, or it leads and nobody knows.
func TestFailover_ofALeaderThatRequeuesInItsNextSession(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: requeues, subjects: [election/curator-selector], clients: [3], session_timeout: 4s,
		phases: [{name: freeze, kind: failover, cause: freeze, rounds: 4, hold: 20ms}]}`) {
		sound(t, trial)
	}
}
