package spec_test

import (
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestOnce(t *testing.T) {
	s, err := spec.Load("x", []byte(`{name: x, subjects: [lock/parent, lock/predecessor], base: lock/parent, trials: 20, clients: [9, 3], session_timeout: 4s, warmup: 9s,
		matrix: {hold: [5ms, 0s]}, phases: [
			{name: quiet, kind: churn, duration: 9s, hold: 0s},
			{name: storm, kind: churn, duration: 60s, hold: 0s, faults: [{at: 2s, every: 3s, times: 4, jitter: 1s, fault: session.close}]},
			{name: rolling, kind: churn, duration: 45s, hold: 0s, faults: [{at: 1s, fault: member.rolling}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Reduce(); err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells()
	if err != nil || len(cells) != 4 || s.Clients[0] != 3 || s.Warmup != 0 {
		t.Errorf("%d trials, %v, of %v clients; want two of each subject with 3", len(cells), err, s.Clients)
	}
	for i, want := range []string{"1s", "6s", "45s"} {
		if got := s.Phases[i].Duration.String(); got != want {
			t.Errorf("phase %s takes %s, want %s", s.Phases[i].Name, got, want)
		}
	}
	if f := s.Phases[1].Faults[0]; f.Every != 0 || f.Times != 0 || s.Phases[0].Hold.String() != "5ms" {
		t.Errorf("the fault %+v, held for %v; want it once, and the first of what varies", f, s.Phases[0].Hold)
	}
}
