package scenarios

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkbench/zkbench/ensembles/state"
	"github.com/zkbench/zkbench/recipes"
	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/history"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/agents"
	"github.com/zkbench/zkbench/scenarios/spec"
	"github.com/zkbench/zkbench/scenarios/stage"
)

// Every broken recipe stands in the zoo, with the cell that shows its mistake and the
// guarantees that catch it.
func TestZoo_everySpecimenNamesWhatCatchesIt(t *testing.T) {
	caught := map[string][]string{}
	for _, x := range shipped(t, "zoo").Specimens {
		if x.Script != spec.EveryScript {
			caught[x.Subject] = append(caught[x.Subject], x.Caught...)
		}
	}
	caught["zoo/resolves-once"] = []string{verdict.Progress} // by the scenario move: the zoo's members stay
	n := 0
	for _, s := range recipes.Subjects() {
		if !strings.HasPrefix(s.Name, "zoo/") {
			continue
		}
		if n++; len(caught[s.Name]) == 0 {
			t.Errorf("%s: nothing is to catch it", s.Name)
		}
		for _, name := range caught[s.Name] {
			if !slices.ContainsFunc(verdict.All(), func(g verdict.Guarantee) bool { return g.Name == name }) {
				t.Errorf("%s is to be caught by %s, which is no guarantee", s.Name, name)
			}
		}
	}
	if n < 25 {
		t.Errorf("%d specimens: where are the others?", n)
	}
}

// Sound subjects meet whatever shows a mistake of one of their kind.
func TestZoo_everyIsWhatFits(t *testing.T) {
	s := shipped(t, "zoo")
	s.Specimens = []spec.Specimen{
		{Subject: "zoo/create-reply-lost", Script: "next create #1/reply.drop", Caught: []string{"no-orphan"}},
		{Subject: "zoo/predecessor-minus-one", Script: "next wait #1/cancel", Caught: []string{"busy-loop"}},
		{Subject: "zoo/queue-take-reply-lost", Script: "first delete #1/reply.drop", Caught: []string{"no-loss"}},
		{Subject: "lock/go-zookeeper", Script: "all/wrapped-numbers", Caught: []string{"no-orphan"}},
		{Subject: "lock/go-zookeeper", Script: spec.EveryScript},
		{Subject: "lock/resource", Script: "next exists #1/request.hold"}, // shows no mistake
		{Subject: "lock/parent", Script: spec.EveryScript, Except: []string{"all/line"}},
		{Subject: "queue/parent", Script: spec.EveryScript},
	}
	must(t, s.Validate())
	cells, err := s.Cells()
	must(t, err)
	played := map[string][]string{}
	for _, c := range cells {
		if len(c.ExpectedViolations) == 0 {
			played[c.Subject.Name] = append(played[c.Subject.Name], c.Provocation)
		}
	}
	for subject, want := range map[string][]string{
		"lock/go-zookeeper": {"all/crowd", "all/line", "next create #1/reply.drop"}, // it cannot be called off
		"lock/parent":       {"all/crowd", "all/wrapped-numbers", "all/newcomers", "next create #1/reply.drop", "next wait #1/cancel"},
		"queue/parent":      {"all/backlog", "first delete #1/reply.drop"},
	} {
		if !slices.Equal(played[subject], want) {
			t.Errorf("%s: %q\nwant %q", subject, played[subject], want)
		}
	}
}

// hired are agents that run in this process, each with a clock of its own that is wrong, and
// start their drivers as processes.
type hired struct {
	fleet *agents.Fleet
	leave []context.CancelCauseFunc // by agent: its link ends as if its machine were gone
}

var errPulled = errors.New("the plug was pulled")

// hire has agents join that have clocks with those skews, for a subject.
func hire(t *testing.T, subject string, skews ...string) *hired {
	t.Helper()
	self := []string{"/usr/bin/env", driverKey + "=" + subject, os.Args[0]} // the test binary is the driver
	f, err := agents.Listen("127.0.0.1:0", "test", t.Logf)
	must(t, err)
	h := &hired{fleet: f}
	var serving sync.WaitGroup
	for i, skew := range skews {
		ctx, leave := context.WithCancelCause(context.Background())
		h.leave = append(h.leave, leave)
		a := agents.Agent{Name: fmt.Sprintf("agent-%d", i), Version: "test", Index: i, Self: self, Skew: skew, Owner: state.Self().String(), Logf: t.Logf}
		serving.Go(func() {
			if err := a.Serve(ctx, f.Join("")); err != nil && !errors.Is(err, errPulled) {
				t.Errorf("%s: %v", a.Name, err)
			}
		})
	}
	t.Cleanup(func() {
		must(t, f.Close())
		serving.Wait()
	})
	must(t, f.Await(t.Context(), len(skews)))
	return h
}

// wrongClocks are seconds off, and drift apart.
var wrongClocks = []string{"5s,200ppm", "", "-3s,-200ppm"}

// play runs a scenario with one trial on the agents. progress is called now and then; nil is allowed.
func (h *hired) play(t *testing.T, relay bool, text string, progress func(stage.Status)) (trial report.Trial, records []history.Record) {
	t.Helper()
	r := newRunner(t)
	r.Agents, r.Relay, r.Progress, r.Driver = h.fleet, relay, progress, []string{os.Args[0], "driver"}
	file := r.play(t, text)[0]
	return trialOf(t, file), recordsOf(t, file)
}

// Three machines whose clocks are seconds apart and drift are one laboratory: every count is
// exact, and nothing is taken for a violation that is only a clock.
func TestElsewhere_countsEqualTheFormula(t *testing.T) {
	for _, relay := range []bool{false, true} {
		t.Run(fmt.Sprintf("relay %v", relay), func(t *testing.T) {
			h := hire(t, "lock/parent", wrongClocks...)
			trial, _ := h.play(t, relay, `{name: far, subjects: [lock/parent], clients: [9], session_timeout: 2s, phases: [
				{name: drain, kind: drain, rounds: 2, hold: 1ms}, {name: churn, kind: churn, duration: 2s, hold: 1ms}]}`, nil)
			sound(t, trial)
			judged(t, trial, verdict.NotificationCount, report.Pass)
			if p := trial.Metrics["pipe.roundtrip"]; p.P50 == nil {
				t.Error("nobody says what the way to the agents costs")
			}
		})
	}
}

// Faults find clients wherever they are, and prove themselves there.
func TestElsewhere_faultsTakeEffect(t *testing.T) {
	t.Parallel()
	h := hire(t, "lock/predecessor", wrongClocks...)
	trial, records := h.play(t, false, `
name: far
subjects: [lock/predecessor]
apart: true
clients: [6]
session_timeout: 2s
phases:
  - name: churn
    kind: churn
    duration: 16s
    hold: 20ms
    faults:
      - {at: 500ms, fault: session.flap, target: random}
      - {at: 1500ms, fault: reply.drop, target: random, params: {op: change}}
      - {at: 2s, fault: request.drop, target: random, params: {op: change}}
      - {at: 3s, fault: request.hold, target: random, params: {op: read}, for: 300ms}
      - {at: 4s, fault: session.close, target: holder}
      - {at: 5s, fault: session.freeze, target: waiter, for: 500ms}
      - {at: 6s, fault: client.pause, target: waiter, for: 500ms}
      - {at: 7s, fault: client.restart, target: holder}
  - {name: calm-again, kind: churn, duration: 2s, hold: 1ms}
`, nil)
	for _, w := range of[*history.Window](records) {
		if w.Err != "" || w.Proof == "" {
			t.Errorf("%s on %s: %s (%s)", w.Fault, w.Target, w.Err, w.Proof)
		}
	}
	if n := len(of[*history.Window](records)); n != 8 {
		t.Errorf("%d faults, want 8", n)
	}
	sound(t, trial)
}

// A lock that keeps its grant after its session is caught across machines, too.
func TestElsewhere_catchesABrokenLock(t *testing.T) {
	t.Parallel()
	h := hire(t, "zoo/ignores-session-loss", wrongClocks...)
	// A hold goes on for longer than the second that a client has to notice.
	trial, _ := h.play(t, false, `{name: far, subjects: [zoo/ignores-session-loss], clients: [6], session_timeout: 1s, phases: [
		{name: churn, kind: churn, duration: 8s, hold: 3s, faults: [{at: 1s, every: 2s, fault: session.close, target: holder}]}]}`, nil)
	judged(t, trial, verdict.MutualExclusion, report.Fail)
}

// An agent that is lost takes its clients with it. They come back on the others, the run is
// judged, and nothing that was heard of them is lost.
func TestElsewhere_anAgentIsLost(t *testing.T) {
	t.Parallel()
	h := hire(t, "lock/predecessor", wrongClocks...)
	trial, records := h.play(t, false, `{name: far, subjects: [lock/predecessor], clients: [6], session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 12s, hold: 5ms}]}`, func(s stage.Status) {
		if strings.HasPrefix(s.Detail, "3s of") { // all have held
			h.leave[1](errPulled)
		}
	})
	killed, sessions := map[int]time.Duration{}, map[int64]bool{}
	for _, s := range of[*history.Session](records) {
		if s.Event == history.Killed {
			killed[s.Client], sessions[s.Session] = s.At, true
		}
	}
	for _, c := range of[*history.Commit](records) {
		if c.Op == history.CommitClose && sessions[c.Session] && c.Cxid != 0 {
			t.Errorf("session %x said good-bye, and a machine that is gone says nothing", c.Session)
		}
	}
	if len(killed) != 2 || killed[1] == 0 || killed[4] == 0 {
		t.Fatalf("killed: %v, want clients 1 and 4", killed)
	}
	before, after := map[int]int{}, map[int]int{}
	for _, s := range of[*history.Sample](records) {
		if s.Op != history.Acquire || s.Outcome != history.OK {
			continue
		}
		if at, gone := killed[s.Client]; gone && s.Return > at {
			after[s.Client]++
		} else {
			before[s.Client]++
		}
	}
	for n, at := range killed {
		if before[n] == 0 || after[n] == 0 {
			t.Errorf("client %d: %d grants until it was lost at %v, and %d afterwards", n, before[n], at, after[n])
		}
	}
	if !slices.ContainsFunc(of[*history.Window](records), func(w *history.Window) bool { return w.Fault == "agent.lost" }) {
		t.Error("no fault says so")
	}
	sound(t, trial)
}

// Where nobody is left to carry a client, the trial cannot be played, and the run goes on.
func TestElsewhere_withoutAgentsNothingIsPlayed(t *testing.T) {
	t.Parallel()
	h := hire(t, "lock/predecessor", "")
	h.leave[0](errPulled)
	trial, records := h.play(t, false, `{name: far, subjects: [lock/predecessor], clients: [2], session_timeout: 2s,
		phases: [{name: churn, kind: churn, duration: 1s}]}`, nil)
	only[*history.TrialFailure](t, records) // says that it could not be played
	for _, guarantee := range []string{verdict.Completed, verdict.MutualExclusion, verdict.Progress} {
		judged(t, trial, guarantee, report.Unknown)
	}
}

func TestConfig_refusesAnAuditWithAgents(t *testing.T) {
	if err := shipped(t, "audit").CheckAgents(); !errors.Is(err, spec.ErrEpisodes) {
		t.Error(err)
	}
}
