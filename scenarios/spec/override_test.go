package spec_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios/spec"
)

const onlyScenario = `{name: two, subjects: [lock/parent, lock/predecessor], clients: [2, 3], session_timeout: 4s, matrix: {hold: [0s, 5ms]},
	phases: [{name: drain, kind: drain, rounds: 1, hold: 0s}]}`

func TestOnly_playsTheTrialsThatAreNamed(t *testing.T) {
	want := []string{"two-lock-parent-2-hold-0s", "two-lock-predecessor-3-hold-5ms"}
	got := units.Names(cellsOf(t, load(t, onlyScenario, "only=["+strings.Join(want, ", ")+"]")), spec.Cell.TrialName)
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	s := load(t, source("audit"), "subjects=[lock/parent, lock/predecessor]",
		`phases.0.cells=["holder delete #1/reply.drop", "all/calm"]`, `only=["audit-lock-parent-all-calm"]`)
	if cells := cellsOf(t, s); len(cells) != 1 {
		t.Errorf("%d cells of an audit, want one", len(cells))
	}
}

func TestOnly_refusesWhatIsNoTrial(t *testing.T) {
	refused(t, `the scenario has no trial two-lock-parent-2-hold-1s; did you mean "two-lock-parent-2-hold-0s"?`,
		onlyScenario, "only=[two-lock-parent-2-hold-1s]")
	refused(t, "cannot be varied in a matrix", onlyScenario, "matrix.only=[a]")
	refused(t, "select cells instead", source("audit"), "only=[audit-lock-parent-x]")
}

// A flag decides a field by whichever of its names the matrix has it.
func TestLoad_aFlagDecidesByAnyName(t *testing.T) {
	const text = `{name: x, subjects: [lock/parent], clients: [2], session_timeout: 4s, phases: [{name: p, kind: drain, rounds: 1, hold: 1ms}], matrix: {phases.0.hold: [1ms, 30ms]}}`
	for _, flag := range []string{"phases.p.hold=9ms", "phases.0.hold=9ms", "hold=9ms"} {
		s := load(t, text, flag)
		if len(s.Matrix) > 0 || s.Phases[0].Hold.String() != "9ms" {
			t.Errorf("%s: a matrix of %v, and a hold of %v", flag, s.Matrix, s.Phases[0].Hold)
		}
	}
}
