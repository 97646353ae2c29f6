package spec_test

import (
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

// What arrives at random is decided by the seed of the plan, which a replay reads back, and is
// the same for all subjects.
func TestArrivals_areOfThePlan(t *testing.T) {
	s, err := spec.Load("x", []byte(`{name: x, subjects: [lock/parent, lock/predecessor], clients: [3], session_timeout: 4s,
		phases: [{name: a, kind: stream, duration: 1s, rate: 5, arrivals: poisson, hold: 0s}, {name: b, kind: stream, duration: 1s, rate: 5, hold: 0s}]}`))
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells()
	if err != nil {
		t.Fatal(err)
	}
	one, other := spec.DrawPlan(s, cells[0], "one", 9), spec.DrawPlan(s, cells[1], "other", 9)
	if one.Phases[0].Seed == 0 || one.Phases[0].Seed != other.Phases[0].Seed {
		t.Errorf("seeds %d and %d, want one for both", one.Phases[0].Seed, other.Phases[0].Seed)
	}
	if one.Phases[1].Seed != 0 {
		t.Error("a seed where it decides nothing")
	}
}
