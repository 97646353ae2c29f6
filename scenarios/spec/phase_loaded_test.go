package spec_test

import (
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestPhase_namesAreUnique(t *testing.T) {
	_, err := spec.Load("x", []byte(`{name: x, subjects: [lock/parent], clients: [2], session_timeout: 4s,
		phases: [{name: a, kind: drain, rounds: 1, hold: 0s}, {name: a, kind: churn, duration: 1s, hold: 0s}]}`))
	if err == nil || err.Error() != "x:2:64: phases.1.name: another phase is already named a" {
		t.Errorf("got %v, want the second name refused in its place", err)
	}
}
