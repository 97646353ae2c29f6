package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes/driver/host"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
)

// noDriversLeft fails the test if a process of a driver is left, stopped or not.
func noDriversLeft(t *testing.T) {
	t.Helper()
	for p, owner := range state.Marked(host.Mark) {
		if owner != state.Self().String() {
			continue // somebody else's
		}
		t.Errorf("process %d is left; stopped: %v", p.PID, p.Stopped())
	}
}

func TestFaults_thatOnlyAProcessCanHave(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: processes
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [3]
session_timeout: 1s
phases:
  - name: churn
    kind: churn
    duration: 4s
    hold: 5ms
    faults:
      - {at: 200ms, fault: client.pause, target: holder, for: 200ms}
      - {at: 1s, fault: client.kill, target: "1", for: 500ms}
      - {at: 2500ms, fault: client.restart, target: holder}
`)
	noDriversLeft(t)
	records := recordsOf(t, histories[0])
	for _, u := range of[*history.Unplayed](records) {
		t.Errorf("it could not be run: %s", u.Why)
	}
	killed := map[int]bool{}
	for _, s := range of[*history.Session](records) {
		if s.Event == history.Killed {
			killed[s.Client] = true
		}
	}
	proofs := map[string]string{"client.pause": "state T", "client.kill": "was gone", "client.restart": "the client had session"}
	for _, w := range of[*history.Window](records) {
		if w.Err != "" || !strings.Contains(w.Proof, proofs[w.Fault]) {
			t.Errorf("%s: proof %q, error %q", w.Fault, w.Proof, w.Err)
		}
		if len(w.Served) > 0 {
			t.Errorf("%s of client %d hit %v as well: each has a process of its own", w.Fault, w.Client, w.Served)
		}
		if w.Fault != "client.pause" && !killed[w.Client] {
			t.Errorf("%s: client %d is not killed in the history", w.Fault, w.Client)
		}
		delete(proofs, w.Fault)
	}
	if len(proofs) > 0 {
		t.Errorf("not played: %v", proofs)
	}
	h, err := history.Open(histories[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range report.Fold(h).Trial.Verdicts {
		if v.Result == report.Fail {
			t.Errorf("%s: %q", v.Guarantee, v.Reasons)
		}
	}
}

func TestFaults_aRunThatIsInterruptedLeavesNothingStopped(t *testing.T) {
	s, err := Load("x", []byte(`
name: interrupted
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [2]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 1m, hold: 5ms, faults: [{at: 0s, fault: client.pause, target: "0", for: 50s}, {at: 0s, fault: client.kill, target: "1", for: 50s}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	r := runner{ensemble: ensemble, id: fmt.Sprintf("test-%d", runs.Add(1)), seed: 1, dir: t.TempDir(), progress: func(Status) {
		for p, owner := range state.Marked(host.Mark) {
			if owner == state.Self().String() && p.Stopped() {
				interrupt()
			}
		}
	}}
	batches, err := s.batches()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.run(ctx, s, batches[0], 0, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	noDriversLeft(t)
}

func TestFaults_hitAllClientsOfAProcess(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: processes
subjects: [`+strings.Replace(asDriver("lock/ours", "lock/predecessor"), "{name", "{processes: 1, name", 1)+`]
clients: [3]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 1s, hold: 5ms, faults: [{at: 200ms, fault: client.restart, target: "1"}]}]
`)
	w := only[*history.Window](t, recordsOf(t, histories[0]))
	if w.Err != "" || fmt.Sprint(w.Served) != "[0 2]" || !strings.Contains(w.Target, "in the same process clients 0, 2") {
		t.Errorf("%+v", w)
	}
}

// A holder that is stopped past its session and goes on has lost it to another, and is
// stopped by the token: that cannot depend on luck. When it is told does.
func TestPausedHolder_goesOn(t *testing.T) {
	trials := runTrials(t, `
name: paused
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`, `+asDriver("lock/silent", "minimal")+`]
clients: [2]
session_timeout: 1s
phases: [{name: pause, kind: failover, cause: pause, rounds: 1, hold: 10ms}]
`)
	noDriversLeft(t)
	for name, trial := range trials {
		for _, v := range trial.Verdicts {
			if v.Result == report.Fail {
				t.Errorf("%s: %s: %q", name, v.Guarantee, v.Reasons)
			}
		}
		stopped := value(t, trial, "pause.writes_fenced")
		if *stopped.Count < 1 || *stopped.Value != float64(*stopped.Count) {
			t.Errorf("%s: of %d late writes the token stopped %v", name, *stopped.Count, *stopped.Value)
		}
		through, offered := trial.Metrics["pause.writes_accepted"]
		if silent := strings.Contains(name, "silent"); offered == silent {
			t.Errorf("%s: unfenced writes: %+v", name, through)
		}
		if belief := trial.Metrics["pause.false_belief"]; belief.Count == nil || *belief.Count != 1 || *belief.Min <= 0 {
			t.Errorf("%s: false belief %+v", name, belief)
		}
	}
	if told := trials["paused-lock-ours-2"].Metrics["pause.notice"]; told.Count == nil {
		t.Error("ours was never told")
	}
	if told, ok := trials["paused-lock-silent-2"].Metrics["pause.notice"]; ok {
		t.Errorf("a driver without events was told: %+v", told)
	}
}

func TestAudit_pausesADriversProcessAtAStep(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: audit
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [3]
session_timeout: 1s
phases: [{name: episode, kind: episode, hold: 10ms, cells: ["next getChildren2 #1/client.pause", "holder hold #1/client.pause"]}]
`)
	noDriversLeft(t)
	for _, f := range histories {
		w := only[*history.Window](t, recordsOf(t, f))
		if w.Err != "" || !strings.Contains(w.Proof, "state T") || !strings.Contains(w.Proof, "no longer listed session") {
			t.Errorf("%+v", w)
		}
	}
}

func TestFaults_hitTheNextInLine(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: next
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [4]
session_timeout: 2s
phases: [{name: churn, kind: churn, duration: 1s, hold: 2s, faults: [{at: 300ms, fault: session.close, target: next}]}]
`) // whoever holds at 300 ms holds when the fault strikes, too
	records := recordsOf(t, histories[0])
	w := only[*history.Window](t, records)
	if w.Err != "" || !strings.Contains(w.Target, "(next)") {
		t.Fatalf("%+v", w)
	}
	var holder int // at that time
	for _, s := range of[*history.Sample](records) {
		if s.Op == history.Acquire && s.Outcome == history.OK && s.Return < w.Start {
			holder = s.Client
		}
	}
	if w.Client == holder {
		t.Errorf("client %d held then", holder)
	}
}

func TestApart_runsWhatIsCompiledInAsDrivers(t *testing.T) {
	t.Setenv(driverKey, "lock/parent") // the test binary is the driver
	s, err := Load("apart", []byte(`
name: apart
subjects: [lock/parent]
apart: true
clients: [2]
session_timeout: 1s
phases: [{name: drain, kind: drain, rounds: 1, hold: 1ms}]
`))
	if err != nil {
		t.Fatal(err)
	}
	r := runner{ensemble: ensemble, id: fmt.Sprintf("test-%d", runs.Add(1)), seed: 1, dir: t.TempDir(), driver: []string{os.Args[0]}}
	batches, err := s.batches()
	if err == nil {
		err = r.run(t.Context(), s, batches[0], 0, 1)
	}
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Open(report.HistoryPath(r.dir, "apart-lock-parent-2"))
	if err != nil {
		t.Fatal(err)
	}
	trial := report.Fold(h).Trial
	if p := trial.Metrics["pipe.roundtrip"]; p.P50 == nil {
		t.Error("it had no pipe: it ran in this process")
	}
	if trial.Formulas["hand-off"] == "" {
		t.Errorf("what is known of it is lost: formulas %v", trial.Formulas)
	}
}

func TestValidate_faultsOfProcesses(t *testing.T) {
	const churn = `
clients: [3]
session_timeout: 1s
phases: [{name: churn, kind: churn, duration: 1s, faults: [{at: 0s, fault: client.kill}]}]
`
	for _, row := range []struct{ text, want string }{
		{"name: x\nsubjects: [lock/parent]" + churn, "client.kill: stops or kills a process, but lock/parent runs inside zkbench; run it in processes of its own: --set apart=true"},
		{"name: x\nsubjects: [lock/parent]\napart: true" + churn, ""},
		{"name: x\nsubjects: [" + `{name: lock/mine, exec: "` + os.Args[0] + `"}` + "]" + churn, ""},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: p, kind: failover, cause: pause, rounds: 1}]", "client.pause: stops or kills"},
		{"name: x\nsubjects: [lock/parent]\nclients: [3]\nsession_timeout: 1s\nphases: [{name: e, kind: episode, cells: [\"holder hold #1/client.pause\"]}]", "client.pause: stops or kills"},
	} {
		_, err := Load("x", []byte(row.text))
		if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
			t.Errorf("%s\n%v, want %q", row.text, err, row.want)
		}
	}
}
