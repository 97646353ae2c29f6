package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

const varied = `
name: varied
subjects: [lock/parent, lock/predecessor]
clients: [2, 3]
session_timeout: 4s
params: {promise: 9s}
matrix:
  session_timeout: [4s, 8s]
  hold: [0s, 20ms]
  tick: [1s, 2s]
  phases.churn.duration: [5s]
phases:
  - {name: drain, kind: drain, rounds: 1, hold: 1ms}
  - {name: churn, kind: churn, duration: 1s, hold: 1ms}
`

func TestScenario_cells_matrix(t *testing.T) {
	cells, err := load(t, varied).Cells()
	must(t, err)
	if want := 2 * 2 * 2 * 2 * 2; len(cells) != want {
		t.Fatalf("%d cells, want %d", len(cells), want)
	}
	for i, c := range cells {
		s := c.Scenario
		if s.Phases[1].Hold != s.Phases[0].Hold || s.Phases[1].Duration != 5*time.Second || len(s.Matrix) != 0 {
			t.Errorf("cell %d does not have its choice: %+v", i, s)
		}
		if i%2 == 1 && cells[i-1].Subject.Name == c.Subject.Name {
			t.Errorf("cell %d: the subjects of a choice must be neighbours", i)
		}
	}
}

// Two trials must not share a name, and their parameters must tell them apart.
func TestCell_namesAndParamsDiffer(t *testing.T) {
	s := load(t, varied)
	cells, err := s.Cells()
	must(t, err)
	var names, params []string
	for _, c := range cells {
		name, p := c.TrialName(), c.Params()
		for _, want := range []string{"session_timeout", "tick", "hold", "churn.duration", "promise"} {
			if p[want] == "" {
				t.Errorf("%s has no parameter %s: %v", name, want, p)
			}
		}
		if p["drain.hold"] != "" {
			t.Errorf("%s has its hold twice: %v", name, p)
		}
		if strings.ContainsAny(name, "/ =") {
			t.Errorf("%q is no name for a file", name)
		}
		names, params = append(names, name), append(params, fmt.Sprint(c.Subject.Name, c.Clients, p))
	}
	for _, list := range [][]string{names, params} {
		slices.Sort(list)
		if n := len(slices.Compact(list)); n != len(cells) {
			t.Errorf("%d different of %d:\n%s", n, len(cells), strings.Join(list, "\n"))
		}
	}
}

// What is set for the run is not varied any more: flags override the scenario.
func TestLoad_aFlagDecidesWhatTheMatrixVaries(t *testing.T) {
	s := load(t, varied, "session_timeout=6s")
	if _, ok := s.Matrix["session_timeout"]; ok || s.SessionTimeout != 6*time.Second {
		t.Errorf("the session timeout is still varied: %v", s.Matrix)
	}
	cells, err := s.Cells()
	if err != nil || len(cells) != 16 {
		t.Errorf("%d cells, want 16: %v", len(cells), err)
	}
}
