package scenarios

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/zkbench/zkbench/chaos/wire"
	"github.com/zkbench/zkbench/ensembles"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/audit"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// audited is a scenario that plays these cells of an audit.
func audited(subjects string, cells ...string) string {
	return fmt.Sprintf(`{name: audit, subjects: [%s], clients: [3], session_timeout: 2s,
		phases: [{name: episode, kind: episode, hold: 10ms, cells: ["%s"]}]}`, subjects, strings.Join(cells, `", "`))
}

// During an outage a majority of the members is frozen for two session timeouts: the client gives its
// session up, the servers keep it, and everything works again afterwards.
func TestAudit_ofAnOutage(t *testing.T) {
	trials := runTrials(t, `{name: outage, subjects: [lock/predecessor], clients: [3], session_timeout: 2s, tick: 200ms,
		phases: [{name: episode, kind: episode, cells: ["holder hold #1/outage", "next wait #1/outage"], hold: 10ms}]}`)
	if len(trials) != 2 {
		t.Fatalf("%d trials", len(trials))
	}
	for _, trial := range trials {
		judged(t, trial, verdict.Faults, report.Pass)
		nothingFailed(t, trial)
	}
}

// An election begins a new epoch of zxids: the low half of a zxid is smaller than in the epoch before.
func TestAudit_ofAnElection(t *testing.T) {
	for _, text := range []string{
		audited(asDriver("lock/half", "takes half of a zxid for its token")+", lock/predecessor, semaphore/predecessor", "holder hold #1/leader.kill", "next wait #1/leader.kill"),
		audited("queue/predecessor", "first wait #1/leader.kill"),
		audited("barrier/predecessor", "arriving_second wait #1/leader.kill"),
	} {
		for _, trial := range runTrials(t, text) {
			judged(t, trial, verdict.Faults, report.Pass)
			if trial.Subject == "lock/half" {
				judged(t, trial, verdict.Fencing, report.Fail)
			} else {
				passed(t, trial)
			}
		}
	}
}

// The only member of an ensemble is the leader, and the member of every client.
func TestAudit_ofOneMember(t *testing.T) {
	t.Parallel()
	r := newRunner(t)
	r.ensemble = startEnsemble(t, ensembles.Options{Members: 1, Tick: 500 * time.Millisecond})
	trials := trialsOf(t, r.play(t, audited("lock/predecessor", "next create #1/member.kill", "next wait #1/leader.kill")))
	if len(trials) != 2 {
		t.Errorf("%d trials, want 2", len(trials))
	}
	for _, trial := range trials {
		judged(t, trial, verdict.Faults, report.Pass)
		passed(t, trial)
	}
}

// An operator deletes nodes: of the clients in line, and the parent, which must be empty.
func TestAudit_ofAnOperator(t *testing.T) {
	t.Parallel()
	trials := runTrials(t, audited("lock/predecessor, election/predecessor", "holder hold #1/node.delete", "next wait #1/node.delete",
		"third wait #1/node.delete", "holder create #1/parent.delete", "next create #1/parent.delete"))
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
		passed(t, trial)
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
	overlaps := new(atomic.Int64)
	slow := wrapped("semaphore/parent", func(c recipes.Client, _ recipes.Env) recipes.Client {
		return &slowRelease{Contender: c.(recipes.Contender), overlaps: overlaps}
	})
	slow.Name = "test/slow-release"
	recipes.Register(slow)
	t.Parallel()
	for _, trial := range runTrials(t, audited("test/slow-release", "next hold #1/session.close", "next hold #1/flap.before")) {
		passed(t, trial)
	}
	if n := overlaps.Load(); n > 0 {
		t.Errorf("%d acquires began while their client released", n)
	}
}

// losesOnce is a client whose session ends in the first acquire of all clients that share ended.
type losesOnce struct {
	recipes.Contender
	ended *atomic.Bool
}

func (c losesOnce) Acquire(ctx context.Context) (recipes.Claim, error) {
	if c.ended.CompareAndSwap(false, true) {
		return recipes.Claim{}, errors.Join(recipes.ErrSessionEnded, c.Close(ctx))
	}
	return c.Contender.Acquire(ctx)
}

// On a slow machine a session may end while clients join and give up: the client joins again with another.
func TestAudit_ofNewcomersWhoseSessionEnds(t *testing.T) {
	for name, client := range map[string]int{"test/holder-loses-once": 0, "test/waiter-loses-once": 3} {
		ended := new(atomic.Bool)
		s := wrapped("lock/predecessor", func(c recipes.Client, env recipes.Env) recipes.Client {
			if env.Client == client {
				return losesOnce{c.(recipes.Contender), ended}
			}
			return c
		})
		s.Name = name
		recipes.Register(s)
	}
	t.Parallel()
	for _, f := range newRunner(t).play(t, audited("test/holder-loses-once, test/waiter-loses-once", "all/newcomers")) {
		h, err := history.Open(f)
		must(t, err)
		if passed(t, report.EvaluateHistory(h).Trial); h.Header.EarlierAttempts > 0 {
			t.Errorf("%s: the cell was repeated %d times", h.Header.Trial, h.Header.EarlierAttempts)
		}
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
	for range spec.FaultFreeEpisodes {
		w.Add(audit.StepsOf("next", frames(wire.Create, wire.Notified, wire.Delete), made), recipes.Subject{})
	}
	rows := func(name string) map[string][]string {
		out := map[string][]string{}
		for _, r := range w.Records(subject(name)) {
			out[r.Step] = r.Faults
		}
		return out
	}
	got := rows("lock/predecessor")
	for step, want := range map[string]string{
		"next acquire #1":      "flap.before session.close session.expire client.freeze",
		"next hold #1":         "flap.before session.close session.expire client.freeze",
		"next wait #1":         "flap.before session.close session.expire client.freeze leader.kill cancel",
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
	again := 0
	for _, f := range newRunner(t).play(t, `
name: audit
subjects: [`+asDriver("lock/ours", "lock/predecessor")+`]
clients: [3]
session_timeout: 4s
phases:
  - {name: episode, kind: episode, cells: ["holder create #1/member.kill", "third multi #1/member.kill"], hold: 500ms}
`) {
		h, err := history.Open(f)
		must(t, err)
		again += h.Header.EarlierAttempts
		passed(t, report.EvaluateHistory(h).Trial)
	}
	if again == 0 {
		t.Error("both came in time: nothing was tried")
	}
}

func TestAudit_says(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		about, subject, cell string
		guarantee, result    string
		why                  []string
	}{
		{"what a program leaves in line that answers unknown: it is closed late enough",
			asDriver("lock/leaves", "zoo/cleanup-missing"), "next getChildren2 #1/flap.before", verdict.NoOrphan, report.Fail, nil},
		// zkbench closes it, and does not take the new client's grant for its own.
		{"which client reports the loss of its session and never returns from its acquire",
			asDriver("lock/sleeper", "sleeps after its loss"), "next wait #1/session.expire", verdict.Progress, report.Fail,
			[]string{"client 1 was notified that its session was lost during its acquire"}},
		{"which step does not come, and which did", "lock/predecessor", "next setData #1/reply.drop", verdict.Faults, report.Unknown,
			[]string{"the step did not occur; the last request of each type that the client sent: ", "create #1"}},
	} {
		t.Run(row.about, func(t *testing.T) {
			t.Parallel()
			for _, trial := range runTrials(t, audited(row.subject, row.cell)) {
				judged(t, trial, row.guarantee, row.result, row.why...)
			}
		})
	}
}

// A client that comes back under its old number while its old session lives must not take the node of that
// session for its own.
func TestAudit_ofAClientThatComesBack(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, audited(asDriver("lock/sound", "lock/predecessor")+", "+asDriver("lock/named", "knows its node by its name"),
		"holder hold #1/client.restart", "next wait #1/client.restart")) {
		if trial.Subject == "lock/sound" || trial.Step == "next wait #1" {
			sound(t, trial, "fifo")
		} else {
			judged(t, trial, verdict.ClaimValidity, report.Fail)
		}
	}
}

// A recipe may end its grant itself: the client releases then, and acquires again.
func TestAudit_ofAGrantThatEndsByItself(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, audited(asDriver("lock/resigns", "resigns"), "all/calm", "next wait #1/session.close")) {
		sound(t, trial)
	}
}

// A client whose driver promises that it rejoins stays open after lost: it is granted again by itself, or
// fails progress.
func TestAudit_ofAClientThatRejoins(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, audited(asDriver("lock/rejoins", "rejoins")+", "+asDriver("lock/stays-out", "stays out"),
		"next wait #1/session.expire", "holder hold #1/session.expire")) {
		if trial.Subject == "lock/rejoins" {
			sound(t, trial)
		} else {
			judged(t, trial, verdict.Progress, report.Fail, "times in succession")
		}
	}
}

// A sound timed try keeps every guarantee when its time is up. Whoever has none has no such cell.
func TestAudit_ofATimedTry(t *testing.T) {
	t.Parallel()
	for _, trial := range runTrials(t, audited("lock/kazoo", "next wait #1/timeout", "next create #1/timeout")) {
		sound(t, trial)
	}
	var w spec.StepWatch
	s := subject("lock/kazoo")
	w.Add([]spec.SeenStep{{Step: spec.Step{Role: "next", Op: spec.CallWait}, Call: spec.CallAcquire}}, s)
	if got := w.Records(s); slices.Contains(got[1].Faults, "timeout") {
		t.Errorf("a driver that has not said that it has a timed try: %v", got[1].Faults)
	}
	s.SupportsLimit = true
	if got := w.Records(s); !slices.Contains(got[1].Faults, "timeout") {
		t.Errorf("one that has said so: %v", got[1].Faults)
	}
}

// Cells beyond the second step of an operation, of a line of a driver that declares a variant, of
// two consumers at a backlog, and of recipes without a queue of nodes. The members' counters are part of all/line: no
// other test may use them.
func TestAudit_playsWhatNoOneTurnReaches(t *testing.T) {
	for subject, cells := range map[string][]string{
		asDriver("lock/ours", "lock/predecessor"):        {"holder multi #3/reply.drop", "all/line"},
		"queue/predecessor":                              {"backlog_first multi #1/reply.drop", "backlog_second multi #1/reply.drop", "backlog_first setData #1/reply.drop"},
		"zoo/unlock-by-name":                             {"all/newcomers"},
		asDriver("semaphore/races", "races for permits"): {"all/newcomers"},
	} {
		for _, f := range newRunner(t).play(t, audited(subject, cells...)) {
			trial := trialOf(t, f)
			passed(t, trial)
			not := trial.Script == "all/newcomers" || strings.Contains(trial.Script, "setData")
			if why := trial.InapplicableReason(); (why != "") != not {
				t.Errorf("%s: not applicable: %q", trial.Name, why)
			}
		}
	}
}

// The audit waits for nodes that will not come in one round, not in each.
func TestAudit_ofALineInWhichSomeHaveNoNode(t *testing.T) {
	t.Parallel()
	for _, f := range newRunner(t).play(t, audited(asDriver("lock/shares", "shares a node"), "all/newcomers")) {
		trial, ends := trialOf(t, f), of[*history.PhaseEnd](recordsOf(t, f))
		sound(t, trial, verdict.FIFO)
		if why := trial.InapplicableReason(); why != "" || len(ends) != 1 || ends[0].At > 20*time.Second { // eight rounds would be 24 s
			t.Errorf("not applicable: %q; ended: %+v", why, ends)
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
	must(t, err)
	broken := map[string]bool{"next create #1/reply.drop": true, "third create #1/cancel": true}
	seen := 0
	for _, trial := range runTrials(t, string(text)) {
		seen++
		switch {
		case trial.CountUnproven() > 0:
			t.Errorf("%s: %v", trial.Name, trial.Faults)
		case trial.Subject == "zoo/create-reply-lost" && broken[trial.Script]:
			judged(t, trial, verdict.NoOrphan, report.Fail)
		default:
			passed(t, trial)
		}
	}
	if seen != 2*len(cells) {
		t.Errorf("%d cells were played, want %d", seen, 2*len(cells))
	}
}

// frames makes a transcript: a frame a millisecond, from 1 ms on.
func frames(ops ...wire.Op) (out []wire.Frame) {
	for i, op := range ops {
		f := wire.Frame{At: time.Duration(i+1) * time.Millisecond, Op: op}
		if op == wire.Notified {
			f.Kind = wire.NotificationFrame
		}
		out = append(out, f)
	}
	return out
}

func TestStepsOf_countsEachOperationAndPutsTheCallsBetween(t *testing.T) {
	made := []spec.SeenStep{{Step: spec.Step{Op: spec.CallAcquire}}, {Step: spec.Step{Op: spec.CallHold}, At: 6500 * time.Microsecond}}
	script := frames(wire.Create, wire.GetChildren2, wire.Exists, wire.Ping, wire.Notified, wire.GetChildren2, wire.Delete, wire.CloseSession)
	script = append(script, wire.Frame{At: time.Hour, Kind: wire.ReplyFrame, Op: wire.Delete})
	got := audit.StepsOf("next", script, made)
	stepsAre(t, got, "next acquire #1", "next create #1", "next getChildren2 #1", "next exists #1", "next notification #1",
		"next getChildren2 #2", "next hold #1", "next delete #1")
	if got[1].Call != spec.CallAcquire || got[7].Call != spec.CallHold {
		t.Errorf("the create is under %q, the delete under %q", got[1].Call, got[7].Call)
	}
	// Of those that have no end, the first.
	endless := frames(wire.Create, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.GetChildren2, wire.Delete)
	stepsAre(t, audit.StepsOf("next", endless, nil), "next create #1", "next getChildren2 #1", "next getChildren2 #2", "next delete #1")
}

func stepsAre(t *testing.T, steps []spec.SeenStep, want ...string) {
	t.Helper()
	if got := units.Names(steps, func(s spec.SeenStep) string { return s.String() }); !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestStepWatch_keepsWhatAllCalmEpisodesShow(t *testing.T) {
	var w spec.StepWatch
	if w.Add(audit.StepsOf("next", frames(wire.Create, wire.Exists, wire.GetChildren2), nil), recipes.Subject{}) {
		t.Error("one was enough")
	}
	w.Add(audit.StepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2), nil), recipes.Subject{})
	if !w.Add(audit.StepsOf("next", frames(wire.Create, wire.GetChildren2, wire.GetChildren2), nil), recipes.Subject{}) {
		t.Error("three were not enough")
	}
	stepsAre(t, w.Steps, "next create #1", "next getChildren2 #1")
}
