package spec_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/zkbench/zkbench/scenarios/spec"
)

// stormy is a scenario with every sort of schedule.
const stormy = `
name: stormy
subjects: [lock/predecessor, lock/parent]
clients: [5]
session_timeout: 4s
phases:
  - name: blows
    kind: churn
    duration: 20s
    hold: 1ms
    faults:
      - {at: 1s, fault: session.close}
      - {at: 2s, every: 1s, times: 4, fault: session.flap, target: waiter}
      - {at: 3s, every: 2s, jitter: 1s, fault: partition.isolate, target: leader, for: 1s}
      - {at: 3s, every: 500ms, times: 6, jitter: 400ms, fault: session.flap, params: {down: 100ms}}
      - {on: client 3 holds, at: 5ms, fault: session.close, target: "3"}
      - {on: 50% wait, fault: session.storm}
  - {name: crash, kind: failover, cause: crash, rounds: 8, hold: 10ms}
`

func plansOf(t *testing.T, text string, seed uint64) map[string]string {
	t.Helper()
	cells := cellsOf(t, load(t, text))
	dir := t.TempDir()
	_, err := spec.MakePlans(cells, seed, dir)
	must(t, err)
	out := map[string]string{}
	for _, c := range cells {
		text, err := os.ReadFile(spec.PlanPath(dir, c.TrialName()))
		must(t, err)
		out[c.TrialName()] = string(text)
	}
	return out
}

func TestPlans_sameSeedSamePlan(t *testing.T) {
	a, again, b := plansOf(t, stormy, 7), plansOf(t, stormy, 7), plansOf(t, stormy, 8)
	const one, other = "stormy-lock-predecessor-5", "stormy-lock-parent-5"
	if a[one] == "" || a[one] != again[one] {
		t.Errorf("the same seed gave another plan:\n%s\n%s", a[one], again[one])
	}
	if strings.ReplaceAll(a[one], "seed: 7", "") == strings.ReplaceAll(b[one], "seed: 8", "") {
		t.Error("another seed gave the same plan")
	}
	if strings.ReplaceAll(a[one], one, "") != strings.ReplaceAll(a[other], other, "") {
		t.Error("two subjects that are compared do not meet the same faults")
	}
}

func TestPhase_drawsWithinTheJitter(t *testing.T) {
	s := load(t, stormy)
	for seed := range uint64(200) {
		p := spec.DrawPlan(spec.Cell{Scenario: s, Clients: 5}, seed)
		faults := p.Phases[0].Faults
		if f := faults[0]; f.At != time.Second || f.Gaps != nil {
			t.Fatalf("a fault without jitter was moved: %+v", f)
		}
		if f := faults[1]; f.Every != time.Second || f.Times != 4 {
			t.Fatalf("a repetition without jitter was changed: %+v", f)
		}
		if f := faults[2]; f.At < 2*time.Second || f.At > 4*time.Second || len(f.Gaps) < 5 || f.Every != 0 {
			t.Fatalf("seed %d: %+v", seed, f)
		}
		for _, gap := range faults[2].Gaps {
			if gap < time.Second || gap > 3*time.Second {
				t.Fatalf("seed %d: a gap of %v, want 1s to 3s", seed, gap)
			}
		}
		if f := faults[3]; len(f.Gaps) != 5 {
			t.Fatalf("seed %d: six times make five gaps, got %v", seed, f.Gaps)
		}
		for _, r := range p.Phases[1].Rounds {
			if r.Holder < 0 || r.Holder > 4 || r.Wait < 10*time.Millisecond || r.Wait > 2010*time.Millisecond {
				t.Fatalf("seed %d: %+v", seed, r)
			}
		}
	}
}

// What arrives at random is decided by the seed of the plan, which a replay reads back, and is
// the same for all subjects.
func TestArrivals_areOfThePlan(t *testing.T) {
	s := load(t, `{name: x, subjects: [lock/parent, lock/predecessor], clients: [3], session_timeout: 4s, phases: [
		{name: a, kind: stream, duration: 1s, rate: 5, arrivals: poisson, hold: 0s}, {name: b, kind: stream, duration: 1s, rate: 5, hold: 0s}]}`)
	cells := cellsOf(t, s)
	one, other := spec.DrawPlan(cells[0], 9), spec.DrawPlan(cells[1], 9)
	if one.Phases[0].Seed == 0 || one.Phases[0].Seed != other.Phases[0].Seed {
		t.Errorf("seeds %d and %d, want one for both", one.Phases[0].Seed, other.Phases[0].Seed)
	}
	if one.Phases[1].Seed != 0 {
		t.Error("a seed where it decides nothing")
	}
}
