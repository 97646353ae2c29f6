package scenarios

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/audit"
	"github.com/zkbench/zkbench/scenarios/spec"
)

func subject(t *testing.T, name string) recipes.Subject {
	t.Helper()
	s, err := recipes.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// During an outage a majority of the members is frozen for two session timeouts: the client gives its
// session up, the servers keep it, and everything works again afterwards.
func TestAudit_ofAnOutage(t *testing.T) {
	trials := runTrials(t, `{name: outage, subjects: [lock/predecessor], clients: [3], session_timeout: 2s, tick: 200ms,
		phases: [{name: episode, kind: episode, cells: ["holder hold #1/outage", "next wait #1/outage"], hold: 10ms}]}`)
	if len(trials) != 2 {
		t.Fatalf("%d trials", len(trials))
	}
	for name, trial := range trials {
		if v := verdictOn(trial, verdict.Faults); v == nil || v.Result != report.Pass {
			t.Errorf("%s: the outage was not proven: %+v", name, v)
		}
		for _, v := range trial.Verdicts {
			if v.Result == report.Fail {
				t.Errorf("%s: %+v", name, v)
			}
		}
	}
}

// An operator deletes nodes: of the clients in line, and the parent, which must be empty.
func TestAudit_ofAnOperator(t *testing.T) {
	trials := runTrials(t, `{name: operator, subjects: [lock/predecessor, election/predecessor], clients: [3], session_timeout: 2s, phases: [{name: episode, kind: episode, hold: 10ms,
		cells: ["holder hold #1/node.delete", "next wait #1/node.delete", "third wait #1/node.delete", "holder create #1/parent.delete", "next create #1/parent.delete"]}]}`)
	if len(trials) != 10 {
		t.Fatalf("%d trials", len(trials))
	}
	// The notification of a semaphore's waiter names no node, and the members can answer it with the zxid before.
	for name, trial := range runTrials(t, `{name: unnamed, subjects: [semaphore/predecessor, semaphore/parent], clients: [3], session_timeout: 2s, trials: 4,
		phases: [{name: episode, kind: episode, hold: 10ms, cells: ["holder hold #1/node.delete"]}]}`) {
		trials[name] = trial
	}
	if len(trials) != 18 {
		t.Fatalf("%d trials", len(trials))
	}
	for name, trial := range trials {
		if trial.Outcome() != report.Pass {
			t.Errorf("%s is %s: %v", name, trial.Outcome(), trial.Verdicts)
		}
		if why := trial.InapplicableReason(); (why != "") != strings.Contains(name, "next-create") {
			t.Errorf("%s: not applicable: %q", name, why)
		}
	}
}

// slowRelease is a client whose release takes half a second. It counts acquires that begin meanwhile.
type slowRelease struct {
	recipes.Contender
	releasing atomic.Bool
	overlaps  *atomic.Int64
}

func (c *slowRelease) Acquire(ctx context.Context) (recipes.Claim, error) {
	if c.releasing.Load() {
		c.overlaps.Add(1)
	}
	return c.Contender.Acquire(ctx)
}

func (c *slowRelease) Release(ctx context.Context) error {
	c.releasing.Store(true)
	defer c.releasing.Store(false)
	time.Sleep(500 * time.Millisecond)
	return c.Contender.Release(ctx)
}

// While a fault hits one holder of a semaphore, the other one releases. It must not acquire again before that
// release has returned.
func TestAudit_makesOneCallOfAClientAtATime(t *testing.T) {
	t.Parallel()
	sound, overlaps := subject(t, "semaphore/parent"), new(atomic.Int64)
	slow := sound
	slow.Name = "test/slow-release"
	slow.Open = func(ctx context.Context, env recipes.Env) (recipes.Client, error) {
		c, err := sound.Open(ctx, env)
		if err != nil {
			return nil, err
		}
		return &slowRelease{Contender: c.(recipes.Contender), overlaps: overlaps}, nil
	}
	recipes.Register(slow)
	for name, trial := range runTrials(t, `{name: slow, subjects: [test/slow-release], clients: [3], session_timeout: 2s, phases: [{name: episode, kind: episode, hold: 10ms,
		cells: ["next hold #1/session.close", "next hold #1/flap.before"]}]}`) {
		if trial.Outcome() != report.Pass {
			t.Errorf("%s is %s: %v", name, trial.Outcome(), trial.Verdicts)
		}
	}
	if n := overlaps.Load(); n > 0 {
		t.Errorf("%d acquires began while their client released", n)
	}
}

// The commands that repeat single cells of an audit name them in its scenario.
func TestAudit_runsOnlyTheNamedCells(t *testing.T) {
	t.Parallel()
	trials := runTrials(t, `{name: again, subjects: [lock/parent], clients: [3], session_timeout: 2s, phases: [{name: episode, kind: episode, hold: 10ms,
		also: [node.delete], cells: ["holder hold #1/flap.before + next wait #1/node.delete"]}]}`)
	if len(trials) != 1 {
		t.Errorf("%d trials", len(trials))
	}
}

func TestRecords_haveTheFaultsThatFitEachStep(t *testing.T) {
	made := []spec.SeenStep{{Step: spec.Step{Op: spec.CallAcquire}}, {Step: spec.Step{Op: spec.CallWait}, At: 1200000}, {Step: spec.Step{Op: spec.CallHold}, At: 2500000}}
	var w spec.StepWatch
	for range spec.CalmTimes {
		w.Add(audit.StepsOf("next", frames(wire.Create, wire.Notified, wire.Delete), made), recipes.Subject{})
	}
	rows := func(name string) map[string][]string {
		out := map[string][]string{}
		for _, r := range w.Records(subject(t, name)) {
			out[r.Step] = r.Faults
		}
		return out
	}
	got := rows("lock/predecessor")
	for step, want := range map[string]string{
		"next acquire #1":      "flap.before session.close session.expire client.freeze",
		"next hold #1":         "flap.before session.close session.expire client.freeze",
		"next wait #1":         "flap.before session.close session.expire client.freeze cancel",
		"next notification #1": "flap.before flap.after session.close client.freeze reply.hold cancel",
		"next delete #1": "request.drop reply.drop reply.drop.away flap.before flap.after session.close reply.close session.expire client.freeze " +
			"request.hold reply.hold member.kill",
		"all": "calm crowd wrapped-numbers newcomers line",
	} {
		if have := strings.Join(got[step], " "); have != want {
			t.Errorf("%s: %s\nwant %s", step, have, want)
		}
	}
	w.Also = []string{"node.delete"}
	if with := rows("lock/predecessor"); !slices.Contains(with["next wait #1"], "node.delete") || slices.Contains(with["next acquire #1"], "node.delete") {
		t.Errorf("with node.delete: %v", with)
	}
	if !slices.Contains(got["next create #1"], "cancel") {
		t.Error("an acquire can be called off at its create")
	}
	if slices.Contains(rows("lock/go-zookeeper")["next create #1"], "cancel") {
		t.Error("lock/go-zookeeper cannot be called off")
	}
}

// Who comes to its step when the member has been killed already is played again, a program of
// its own as well: with processes of another trial.
func TestAudit_playsAgainWhoCameTooLate(t *testing.T) {
	histories := playOn(t, ensemble, nil, `
name: audit
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [3]
session_timeout: 4s
phases:
  - {name: episode, kind: episode, cells: ["holder create #1/member.kill", "third multi #1/member.kill"], hold: 500ms}
`)
	again := 0
	for _, f := range histories {
		h, err := history.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		again += h.Header.Again
		if trial := report.EvaluateHistory(h).Trial; trial.Outcome() != report.Pass {
			t.Errorf("%s is %s: %v", trial.Name, trial.Outcome(), trial.Verdicts)
		}
	}
	if again == 0 {
		t.Error("both came in time: nothing was tried")
	}
}

// A program that answers "unknown" is closed late enough to see what it leaves in line.
func TestAudit_seesWhatAProgramLeavesInLine(t *testing.T) {
	t.Parallel()
	trials := runTrials(t, `
name: audit
subjects: [`+asDriver("lock/leaves", "zoo/cleanup-missing")+`]
clients: [3]
session_timeout: 2s
phases:
  - {name: episode, kind: episode, cells: ["next getChildren2 #1/flap.before"], hold: 10ms}
`)
	for _, trial := range trials {
		if i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == "no-orphan" }); i < 0 || trial.Verdicts[i].Result != report.Fail {
			t.Errorf("%s was not caught: %v", trial.Name, trial.Verdicts)
		}
	}
}

// A client that reports the loss of its session and never returns from its acquire fails progress:
// zkbench closes it, and does not take the new client's grant for its own.
func TestAudit_ofAClientThatSleepsAfterItsLoss(t *testing.T) {
	t.Parallel()
	for name, trial := range runTrials(t, `
name: audit
subjects: [`+asDriver("lock/sleeper", "sleeps after its loss")+`]
clients: [3]
session_timeout: 2s
phases:
  - {name: episode, kind: episode, cells: ["next wait #1/session.expire"], hold: 10ms}
`) {
		i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == verdict.Progress })
		if v := trial.Verdicts[i]; v.Result != report.Fail || !strings.Contains(strings.Join(v.Reasons, " "), "client 1 was notified that its session was lost during its acquire") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A client that comes back under its old number while its old session lives must not take the node of that
// session for its own.
func TestAudit_ofAClientThatComesBack(t *testing.T) {
	t.Parallel()
	for name, trial := range runTrials(t, `
name: audit
subjects: [`+asDriver("lock/sound", "lock/predecessor")+`, `+asDriver("lock/named", "knows its node by its name")+`]
clients: [3]
session_timeout: 2s
phases:
  - {name: episode, kind: episode, cells: ["holder hold #1/client.restart", "next wait #1/client.restart"], hold: 10ms}
`) {
		if trial.Subject == "lock/sound" || trial.Step == "next wait #1" {
			nothingAmiss(t, name, trial, "fifo")
			continue
		}
		i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == verdict.ClaimValidity })
		if v := trial.Verdicts[i]; v.Result != report.Fail {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A client whose driver promises that it rejoins stays open after lost: it is granted again by itself, or
// fails progress.
func TestAudit_ofAClientThatRejoins(t *testing.T) {
	t.Parallel()
	for name, trial := range runTrials(t, `
name: audit
subjects: [`+asDriver("lock/rejoins", "rejoins")+`, `+asDriver("lock/stays-out", "stays out")+`]
clients: [3]
session_timeout: 2s
phases:
  - {name: episode, kind: episode, cells: ["next wait #1/session.expire", "holder hold #1/session.expire"], hold: 10ms}
`) {
		if trial.Subject == "lock/rejoins" {
			nothingAmiss(t, name, trial)
			continue
		}
		i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == verdict.Progress })
		if v := trial.Verdicts[i]; v.Result != report.Fail || !strings.Contains(strings.Join(v.Reasons, " "), "times in succession") {
			t.Errorf("%s: %+v", name, v)
		}
	}
}

// A sound timed try keeps every guarantee when its time is up. Whoever has none has no such cell.
func TestAudit_ofATimedTry(t *testing.T) {
	t.Parallel()
	trials := runTrials(t, `
name: audit
subjects: [lock/kazoo]
clients: [3]
session_timeout: 2s
phases:
  - {name: episode, kind: episode, cells: ["next wait #1/timeout", "next create #1/timeout"], hold: 10ms}
`)
	for _, trial := range trials {
		sound(t, trial)
	}
	var w spec.StepWatch
	s := subject(t, "lock/kazoo")
	w.Add([]spec.SeenStep{{Step: spec.Step{Role: "next", Op: spec.CallWait}, Call: spec.CallAcquire}}, s)
	if got := w.Records(s); slices.Contains(got[1].Faults, "timeout") {
		t.Errorf("a driver that has not said that it has a timed try: %v", got[1].Faults)
	}
	s.SupportsLimit = true
	if got := w.Records(s); !slices.Contains(got[1].Faults, "timeout") {
		t.Errorf("one that has said so: %v", got[1].Faults)
	}
}

// A step that does not come is told, with those that did.
func TestAudit_saysHowFarAClientWent(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, `
name: audit
subjects: [lock/predecessor]
clients: [3]
session_timeout: 2s
phases:
  - {name: episode, kind: episode, cells: ["next setData #1/reply.drop"], hold: 10ms}
`) {
		i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == verdict.Faults })
		v := trial.Verdicts[i]
		if said := strings.Join(v.Reasons, "; "); v.Result != report.Unknown || !strings.Contains(said, "the step did not occur; the last request of each type that the client sent: ") || !strings.Contains(said, "create #1") {
			t.Errorf("%s: %s", v.Result, said)
		}
	}
}

// Cells beyond the second step of an operation, of a line of a driver that declares a variant, of
// two consumers at a backlog, and of recipes without a queue of nodes.
func TestAudit_playsWhatNoOneTurnReaches(t *testing.T) {
	t.Parallel()
	for subject, cells := range map[string]string{
		asDriver("lock/ours", "lock/predecessor"):        `"holder multi #3/reply.drop", "all/line"`,
		"queue/predecessor":                              `"backlog_first multi #1/reply.drop", "backlog_second multi #1/reply.drop", "backlog_first setData #1/reply.drop"`,
		"zoo/unlock-by-name":                             `"all/newcomers"`,
		asDriver("semaphore/races", "races for permits"): `"all/newcomers"`,
	} {
		for _, f := range playOn(t, ensemble, nil, `
name: audit
subjects: [`+subject+`]
clients: [3]
session_timeout: 2s
phases:
  - {name: episode, kind: episode, cells: [`+cells+`], hold: 10ms}
`) {
			h, err := history.Open(f)
			if err != nil {
				t.Fatal(err)
			}
			trial := report.EvaluateHistory(h).Trial
			not := trial.Provocation == "all/newcomers" || strings.Contains(trial.Provocation, "setData")
			if trial.Outcome() != report.Pass || (trial.InapplicableReason() != "") != not {
				t.Errorf("%s is %s, not applicable: %q: %v", trial.Name, trial.Outcome(), trial.InapplicableReason(), trial.Verdicts)
			}
		}
	}
}

// A few cells of a sound lock and of one that loses its node with the reply to a create,
// on a real ensemble.
func TestAudit_findsTheStepAtWhichALockIsBroken(t *testing.T) {
	cells := []string{"all/calm", "next create #1/request.drop", "next create #1/reply.drop", "next notification #1/flap.before",
		"holder hold #1/session.expire", "third create #1/cancel", "holder delete #1/reply.hold", "next getChildren2 #1/client.freeze", "next wait #1/session.close", "next getChildren2 #1/member.kill"}
	s := shipped(t, "audit", "subjects=[lock/predecessor-plain, zoo/create-reply-lost]", "tick=0s", "session_timeout=4s", `phases.0.cells=["`+strings.Join(cells, `", "`)+`"]`)
	text, err := s.Dump()
	if err != nil {
		t.Fatal(err)
	}
	broken := map[string]bool{"next create #1/reply.drop": true, "third create #1/cancel": true}
	seen := 0
	for _, trial := range runTrials(t, string(text)) {
		if trial.CountUnproven() > 0 {
			t.Errorf("%s: %v", trial.Name, trial.Faults)
			continue
		}
		seen++
		if trial.Subject == "zoo/create-reply-lost" && broken[trial.Provocation] {
			if i := slices.IndexFunc(trial.Verdicts, func(v report.Verdict) bool { return v.Guarantee == "no-orphan" }); i < 0 || trial.Verdicts[i].Result != report.Fail {
				t.Errorf("%s: was not caught: %v", trial.Name, trial.Verdicts)
			}
			continue
		}
		if trial.Outcome() != report.Pass {
			t.Errorf("%s is %s: %v", trial.Name, trial.Outcome(), trial.Verdicts)
		}
	}
	if seen != 2*len(cells) {
		t.Errorf("%d cells were proven, want %d", seen, 2*len(cells))
	}
}
