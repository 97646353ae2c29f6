package spec_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

// What can be said in two ways means one thing, and what would do nothing is refused.
func TestLoad_refusesWhatIsAmbiguous(t *testing.T) {
	const text = `{name: x, subjects: [lock/parent], clients: [2], session_timeout: 4s, phases: [{name: p, kind: drain, rounds: 1, hold: 1ms}], %s}`
	for _, row := range []struct {
		name, more string
		overrides  []string
		want       string
	}{
		{"one field of the matrix by two names", "matrix: {phases.0.rounds: [1, 2], phases.p.rounds: [3, 4]}", nil, "matrix.phases.p.rounds: is the same field as matrix.phases.0.rounds"},
		{"a field of a phase and of all", "matrix: {hold: [0s, 1ms], phases.p.hold: [2ms, 3ms]}", nil, "is already set by matrix.hold, which applies to all phases"},
		{"values that make one name", `matrix: {params.x: ["a b", a_b]}`, nil, "give trials the same name"},
		{"a flag for one phase of what the matrix has for all", "matrix: {hold: [0s, 1ms]}", []string{"phases.p.hold=2ms"}, "the matrix varies the hold of all phases"},
		{"a parameter by the name of a setting", "params: {session_timeout: 1h}", nil, "params.session_timeout: is the name of a setting"},
		{"a parameter by that of a formula", "params: {expected: '7'}", nil, "params.expected: is the name of a setting"},
		{"a parameter that compares with nothing", "params: {n: '5'}, thresholds: [handoff.latency.p50 < n]", nil, "cannot be compared with the metric"},
		{"a program that nobody plays", "", []string{"exec=lock/mine=cat"}, "lock/mine is not among the subjects"},
		{"a name that is no word", "", []string{`name="a\nb"`}, "name: "},
		{"a phase that is a number", "", []string{`phases.0.name="0"`}, "not a number"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := spec.Load("x", []byte(strings.Replace(text, "%s", row.more, 1)), row.overrides...)
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("%v, want %q", err, row.want)
			}
		})
	}
}

// A flag decides a field by whichever of its names the matrix has it.
func TestLoad_aFlagDecidesByAnyName(t *testing.T) {
	const text = `{name: x, subjects: [lock/parent], clients: [2], session_timeout: 4s, phases: [{name: p, kind: drain, rounds: 1, hold: 1ms}], matrix: {phases.0.hold: [1ms, 30ms]}}`
	for _, flag := range []string{"phases.p.hold=9ms", "phases.0.hold=9ms", "hold=9ms"} {
		s, err := spec.Load("x", []byte(text), flag)
		if err != nil {
			t.Fatal(err)
		}
		if len(s.Matrix) > 0 || s.Phases[0].Hold.String() != "9ms" {
			t.Errorf("%s: a matrix of %v, and a hold of %v", flag, s.Matrix, s.Phases[0].Hold)
		}
	}
}
