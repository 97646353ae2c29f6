package spec_test

import (
	"strings"
	"testing"

	"github.com/zkbench/zkbench/scenarios/spec"
)

func TestScenario_validateMatrix_choicesThatOnlyTogetherAreWrong(t *testing.T) {
	_, err := spec.Load("test.yaml", []byte(`
name: together
subjects: [lock/parent]
clients: [2]
session_timeout: 4s
matrix:
  phases.0.duration: [10s, 4s]
  phases.0.faults.0.at: [1s, 6s]
phases:
  - name: churn
    kind: churn
    duration: 10s
    hold: 0s
    faults:
      - {at: 1s, fault: session.close, target: holder}
`))
	if err == nil || !strings.Contains(err.Error(), "6s is not within the phase (0 to 4s)") {
		t.Errorf("each value is right alone, but a fault at 6s is not within a phase of 4s: %v", err)
	}
}
