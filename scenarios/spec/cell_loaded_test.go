package spec_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestScenario_Validate_trials(t *testing.T) {
	for _, row := range []struct {
		about string
		set   []string
		want  string // in the error; empty when it is valid
	}{
		{"two subjects, ten trials, a base", []string{"trials=10", "base=lock/parent"}, ""},
		{"repeating needs no base", []string{"trials=10"}, ""},
		{"a negative number of trials", []string{"trials=-1"}, "trials: -1 is not between"},
		{"a base that is misspelt", []string{"trials=10", "base=lock/parnet"}, `did you mean "lock/parent"`},
		{"a base that is no subject of the run", []string{"trials=10", "base=lock/go-zookeeper"}, "lock/go-zookeeper is not among the subjects"},
		{"a base with nothing beside it", []string{"trials=10", "base=lock/parent", "subjects=[lock/parent]"}, "no other subject"},
		{"a budget that cuts repetitions short", []string{"trials=10", "budget=30s"}, ""},
		{"a budget with nothing to cut", []string{"trials=3", "budget=30s"}, "set trials to a larger number"},
		{"a budget below nothing", []string{"trials=10", "budget=-1s"}, "budget: -1s is not between"},
		{"a base without trials", []string{"base=lock/parent"}, "requires several trials"},
		{"an audit of every step", []string{"trials=10", "clients=[3]", "phases=[{name: e, kind: episode}]"}, "phases.0.cells"},
		{"cells of an audit", []string{"trials=10", "clients=[3]", "phases=[{name: e, kind: episode, cells: [all/crowd]}]"}, ""},
	} {
		t.Run(row.about, func(t *testing.T) {
			name, text, err := spec.Source("herd")
			if err != nil {
				t.Fatal(err)
			}
			_, err = spec.Load(name, text, row.set...)
			switch {
			case row.want == "" && err != nil:
				t.Errorf("error %v, want none", err)
			case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
				t.Errorf("error %v, want one that says %q", err, row.want)
			}
		})
	}
}
