package scenarios

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
)

// Every item is taken once also while a session is lost.
func TestExchange_everyItemIsTakenOnce(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `{name: exchange, subjects: [queue/parent, queue/predecessor], clients: [4], session_timeout: 4s,
		phases: [{name: exchange, kind: churn, duration: 4s, hold: 5ms, faults: [{at: 300ms, fault: session.close, target: random}]}]}`) {
		sound(t, trial)
		if len(trial.Faults) != 1 || trial.Faults[0].Proof == "" {
			t.Errorf("%s: faults %+v, want one with a proof", trial.Name, trial.Faults)
		}
		if m := value(t, trial, metrics.Throughput); *m.Count == 0 {
			t.Errorf("%s: no item was taken", trial.Name)
		}
	}
}

// What sessions take is measured, also when their members go, and then a few contend while the others only have theirs.
func TestConnect_everySessionIsAccountedFor(t *testing.T) {
	const n = 60
	files := newRunner(t).play(t, `
name: connect
subjects: [lock/predecessor]
clients: [60]
session_timeout: 10s
phases:
  - name: connect
    kind: connect
    duration: 4s
    hold: 0s
    faults: [{at: 300ms, fault: member.kill, target: leader, for: 1s}]
  - {name: handoff, kind: churn, duration: 500ms, hold: 0s, contenders: 3}
`)
	h, err := history.Open(files[0])
	must(t, err)
	trial := report.EvaluateHistory(h).Trial
	sound(t, trial)
	killed, _, _ := strings.Cut(trial.Faults[0].Target, " ")
	for _, metric := range []string{metrics.ConnectAll, metrics.SessionHeap, metrics.SessionStacks} {
		reused := metric == metrics.SessionStacks // sessions may use the stacks of goroutines of earlier tests
		if m := value(t, trial, metric); *m.Count != n || *m.Value < 0 || *m.Value == 0 && !reused {
			t.Errorf("%s is %v of %d, want more than 0 of %d", metric, *m.Value, *m.Count, n)
		}
	}
	if m := trial.Metrics[metrics.ConnectLatency]; m.Count == nil || *m.Count != n {
		t.Errorf("%v sessions have a latency, want %d", m.Count, n)
	}
	if m := value(t, trial, metrics.SessionGoroutines); *m.Value < 2 || *m.Value > 6 {
		t.Errorf("%v goroutines a session, want those of one connection", *m.Value)
	}
	if m := value(t, trial, metrics.SessionHeap); *m.Value > 64<<10 {
		t.Errorf("%v bytes of heap a session, want at most 64 KiB", *m.Value)
	}
	if m := value(t, trial, metrics.ReconnectAll); *m.Count < n/3 {
		t.Errorf("%d came back, want at least those of the member that was killed", *m.Count)
	}
	if m := value(t, trial, metrics.SessionsExpired); *m.Count < n || *m.Count >= 2*n {
		t.Errorf("%d sessions were opened, want %d, and a few for those that were lost", *m.Count, n)
	}
	if m := value(t, trial, metrics.MemberConnections); *m.Value < n/3 {
		t.Errorf("no member had more than %v connections", *m.Value)
	}
	if m := value(t, trial, metrics.MemberSilent); *m.Value == 0 || !strings.Contains(m.Note, killed) {
		t.Errorf("%s was killed, and silent were %v times: %s", killed, *m.Value, m.Note)
	}
	value(t, trial, metrics.MemberLatency)
	if m := value(t, trial, metrics.MemberQueue); *m.Count == 0 {
		t.Error("no member said how long its queue is")
	}
	contended := map[int]bool{}
	for _, s := range of[*history.Sample](recordsOf(t, files[0])) {
		contended[s.Client] = true
	}
	if len(contended) != 3 || !contended[0] || !contended[1] || !contended[2] {
		t.Errorf("clients %v have contended, want the first 3", contended)
	}
	if p := h.Phase("handoff"); p == nil || p.Contenders != 3 {
		t.Errorf("the history says of the phase %+v, want 3 contenders", p)
	}
}

// The next phase finds every client with a session, and one that a fault has ended did not expire without a reason.
func TestConnect_givesBackWhatIsLost(t *testing.T) {
	t.Parallel()
	files := newRunner(t).play(t, `
name: connect
subjects: [lock/predecessor]
clients: [4]
session_timeout: 10s
phases:
  - {name: connect, kind: connect, duration: 3s, hold: 0s, faults: [{at: 100ms, fault: session.close, target: "1"}]}
  - {name: churn, kind: churn, duration: 500ms, hold: 0s}
`)
	trial := trialOf(t, files[0])
	sound(t, trial)
	if m := value(t, trial, metrics.SessionsExpired); *m.Value != 0 || *m.Count != 5 {
		t.Errorf("%v of %d sessions expired without a reason, want none of the 4 and the new one", *m.Value, *m.Count)
	}
	for _, s := range of[*history.Sample](recordsOf(t, files[0])) {
		if s.Client == 1 && s.Op == history.Acquire {
			if s.Outcome != history.OK {
				t.Errorf("client 1 went on without a session: %s", s.Err)
			}
			break
		}
	}
}
