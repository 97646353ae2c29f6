package scenarios

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/metrics"
	"pgregory.net/rapid"
)

func TestKind_refusesWhatItDoesNotKnow(t *testing.T) {
	for _, c := range []struct {
		name, subject string
		clients, kind string
		want          string // part of the error; empty: none
	}{
		{"a succession", "election/parent", "8", "{kind: succession, rounds: 1, leave: resign, order: [0, 1], hold: 0s}", ""},
		{"a succession of locks", "lock/parent", "2", "{kind: succession, rounds: 1, leave: expire, order: [1], hold: 0s}", ""},
		{"a queue has no leaders", "queue/parent", "8", "{kind: succession, rounds: 1, leave: resign, order: [0], hold: 0s}", "grants nothing; a succession needs a lock or an election"},
		{"an unknown way to leave has a nearest known one", "election/parent", "8", "{kind: succession, rounds: 1, leave: loose, order: [0], hold: 0s}", `did you mean "lose"`},
		{"somebody must leave", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, hold: 0s}", "order: is required"},
		{"nobody leaves twice", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, order: [1, 1], hold: 0s}", "is not a client's number, or occurs twice"},
		{"a warning that comes at once", "election/parent", "[2, 8]", "{kind: succession, rounds: 1, leave: lose, order: [0], warn: 3, hold: 0s}", "2 candidates are fewer than warn (3)"},
		{"who leaves must be there", "election/parent", "[2, 8]", "{kind: succession, rounds: 1, leave: lose, order: [2], hold: 0s}", "2 candidates have no number 2"},
		{"a succession needs rounds", "election/parent", "8", "{kind: succession, leave: lose, order: [0], hold: 0s}", "rounds: 0 is not between"},
		{"a succession has no faults of its own choice", "election/parent", "8", "{kind: succession, rounds: 1, leave: lose, order: [0], hold: 0s, faults: [{at: 0s, fault: session.close}]}", "faults"},
		{"flaps", "queue/predecessor", "2", "{kind: flap, rounds: 1, hold: 0s}", ""},
		{"somebody must be left to see a flap", "lock/parent", "1", "{kind: flap, rounds: 1, hold: 0s}", "leaves no waiter while it flaps"},
		{"flaps end when their rounds are done", "lock/parent", "2", "{kind: flap, rounds: 1, duration: 1s, hold: 0s}", "give rounds"},
		{"a stream", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 0.5, size: 100, hold: 0s}", ""},
		{"a stream of acquires", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, arrivals: poisson, hold: 0s}", ""},
		{"a ramp", "election/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 40, steps: 2, hold: 0s}", ""},
		{"a lock takes no items", "lock/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 1, hold: 0s}", "takes no items"},
		{"a ramp rises", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 20, hold: 0s}", "rate_to: 20 a second is not above rate (20)"},
		{"what is no ramp has no steps", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, steps: 2, hold: 0s}", "steps: requires rate_to"},
		{"one step is no ramp", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 30, steps: 1, hold: 0s}", "steps: 1 is not between"},
		{"a ramp is undisturbed", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 20, rate_to: 30, hold: 0s, faults: [{at: 0s, fault: session.close}]}", "faults: a ramp has no faults"},
		{"nobody could judge so many", "lock/parent", "1", "{kind: stream, duration: 1m, rate: 1, rate_to: 50000, hold: 0s}", "rate: about 1500030 operations would be due"},
		{"an unknown way to arrive", "lock/parent", "1", "{kind: stream, duration: 1s, rate: 1, arrivals: uniform, hold: 0s}", "is neither constant nor poisson"},
		{"a stream needs producers", "queue/parent", "1", "{kind: stream, duration: 1s, rate: 1, hold: 0s}", "producers: 0 is not between"},
		{"a stream needs a rate", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, hold: 0s}", "rate: 0 per second"},
		{"not a number is no rate", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: .nan, hold: 0s}", "rate: NaN"},
		{"a stream runs for a time", "queue/parent", "1", "{kind: stream, producers: 1, rate: 1, rounds: 3, hold: 0s}", "give duration"},
		{"an item must fit into a znode", "queue/parent", "1", "{kind: stream, duration: 1s, producers: 1, rate: 1, size: 2000000, hold: 0s}", "size: 2000000 is not between"},
		{"a churn has no rate", "queue/parent", "1", "{kind: churn, duration: 1s, rate: 5, hold: 0s}", "belongs to a stream"},
		{"a churn has no cause", "lock/parent", "2", "{kind: churn, duration: 1s, cause: crash, hold: 0s}", "belongs to a failover"},
		{"a queue grants nothing", "queue/parent", "2", "{kind: failover, rounds: 1, cause: crash, hold: 0s}", "grants nothing"},
		{"somebody must succeed the holder", "lock/parent", "1", "{kind: failover, rounds: 1, cause: crash, hold: 0s}", "leaves no successor of the holder"},
		{"sessions that are only opened", "queue/parent", "1", "{kind: connect, duration: 1s, hold: 0s}", ""},
		{"a connect lasts", "lock/parent", "1", "{kind: connect, hold: 0s}", "duration: 0s is not between"},
		{"nobody contends in a connect", "lock/parent", "3", "{kind: connect, duration: 1s, contenders: 2, hold: 0s}", "contenders: belongs to a churn"},
		{"some of many contend", "lock/parent", "3", "{kind: churn, duration: 1s, contenders: 3, hold: 0s}", ""},
		{"contenders are clients", "lock/parent", "[3, 8]", "{kind: churn, duration: 1s, contenders: 4, hold: 0s}", "3 are fewer than contenders (4)"},
		{"not fewer than none", "lock/parent", "3", "{kind: churn, duration: 1s, contenders: -1, hold: 0s}", "contenders: -1 is not between"},
		{"a drain has no order", "lock/parent", "3", "{kind: drain, rounds: 1, order: [0], hold: 0s}", "belongs to a succession"},
	} {
		t.Run(c.name, func(t *testing.T) {
			text := "name: x\nsubjects: [" + c.subject + "]\nclients: [" + strings.Trim(c.clients, "[]") + "]\nsession_timeout: 4s\nphases:\n  - " +
				strings.Replace(c.kind, "{", "{name: p, ", 1) + "\n"
			_, err := spec.Load("x", []byte(text))
			switch {
			case c.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestExchange_everyItemIsTakenOnce: every item that is put is taken once, also while a session is lost.
func TestExchange_everyItemIsTakenOnce(t *testing.T) {
	trials := runTrials(t, `
name: exchange
subjects: [queue/parent, queue/predecessor]
clients: [4]
session_timeout: 4s
phases:
  - name: exchange
    kind: churn
    duration: 4s
    hold: 5ms
    faults:
      - {at: 300ms, fault: session.close, target: random}
`)
	for _, trial := range trials {
		sound(t, trial)
		if len(trial.Faults) != 1 || trial.Faults[0].Proof == "" {
			t.Errorf("%s: faults %+v, want one with a proof", trial.Name, trial.Faults)
		}
		if m := value(t, trial, metrics.Throughput); *m.Count == 0 {
			t.Errorf("%s: no item was taken", trial.Name)
		}
	}
}

func TestFill_keepsTheIdentity(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[0-9]{1,4}-[0-9]{1,9}`).Draw(t, "id")
		size := rapid.IntRange(0, 300).Draw(t, "size")
		item := fill(id, size)
		if got := identity(item); got != id {
			t.Fatalf("the identity of item %q reads %q", id, got)
		}
		if want := max(size, len(id)); len(item) != want {
			t.Fatalf("%d bytes, want %d", len(item), want)
		}
	})
	if got := identity(make([]byte, 1000)); len(got) != 64 {
		t.Errorf("the identity of a foreign item has %d bytes, want the first 64", len(got))
	}
}

// TestConnect_everySessionIsAccountedFor: what sessions take is measured, also when their
// members go, and then a few contend while the others only have theirs.
func TestConnect_everySessionIsAccountedFor(t *testing.T) {
	const n = 60
	files := playOn(t, ensemble, nil, `
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
	trial := report.Fold(h).Trial
	sound(t, trial)
	killed, _, _ := strings.Cut(trial.Faults[0].Target, " ")
	for metric, want := range map[string]int64{metrics.ConnectAll: n, metrics.SessionHeap: n, metrics.SessionStacks: n} {
		if m := value(t, trial, metric); *m.Count != want || *m.Value <= 0 {
			t.Errorf("%s is %v of %d, want more than none of %d", metric, *m.Value, *m.Count, want)
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

// TestConnect_givesBackWhatIsLost: the next phase finds every client with a session, and one
// that a fault has ended did not expire without a reason.
func TestConnect_givesBackWhatIsLost(t *testing.T) {
	files := playOn(t, ensemble, nil, `
name: connect
subjects: [lock/predecessor]
clients: [4]
session_timeout: 10s
phases:
  - {name: connect, kind: connect, duration: 3s, hold: 0s, faults: [{at: 100ms, fault: session.close, target: "1"}]}
  - {name: churn, kind: churn, duration: 500ms, hold: 0s}
`)
	h, err := history.Open(files[0])
	must(t, err)
	trial := report.Fold(h).Trial
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
