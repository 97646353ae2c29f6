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
	s, err := spec.Load("two.yaml", []byte(onlyScenario), "only=["+strings.Join(want, ", ")+"]")
	if err != nil {
		t.Fatal(err)
	}
	cells, err := s.Cells()
	if err != nil {
		t.Fatal(err)
	}
	if got := units.Names(cells, spec.Cell.TrialName); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestOnly_ofAnAudit(t *testing.T) {
	_, text, err := spec.Source("audit")
	if err != nil {
		t.Fatal(err)
	}
	set := []string{"subjects=[lock/parent, lock/predecessor]", `phases.0.cells=["holder delete #1/reply.drop", "all/calm"]`}
	s, err := spec.Load("audit", text, append(set, `only=["audit-lock-parent-all-calm"]`)...)
	if err != nil {
		// The name of a trial is what the cells are called; say what they are.
		whole, _ := spec.Load("audit", text, set...)
		cells, _ := whole.Cells()
		t.Fatalf("%v; its trials are %v", err, units.Names(cells, spec.Cell.TrialName))
	}
	if cells, err := s.Cells(); err != nil || len(cells) != 1 {
		t.Errorf("%d cells, %v; want one", len(cells), err)
	}
}

func TestOnly_refusesWhatIsNoTrial(t *testing.T) {
	for set, want := range map[string]string{
		"only=[two-lock-parent-2-hold-1s]": `the scenario has no trial two-lock-parent-2-hold-1s; did you mean "two-lock-parent-2-hold-0s"?`,
		"matrix.only=[a]":                  "cannot be varied in a matrix",
	} {
		if _, err := spec.Load("two.yaml", []byte(onlyScenario), set); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", set, err, want)
		}
	}
	_, text, _ := spec.Source("audit")
	if _, err := spec.Load("audit", text, "only=[audit-lock-parent-x]"); err == nil || !strings.Contains(err.Error(), "select cells instead") {
		t.Errorf("an audit without cells: %v", err)
	}
}
