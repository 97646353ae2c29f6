package spec

import (
	"strings"
	"testing"
)

func TestScenario_saysHowToHaveEnoughFiles(t *testing.T) {
	s := &Scenario{Clients: []int{100, 2000}}
	if err := s.CheckFiles(2000 + otherFiles); err != nil {
		t.Errorf("there are enough: %v", err)
	}
	err := s.CheckFiles(2000 + otherFiles - 1)
	if err == nil || !strings.Contains(err.Error(), "2000 clients need 2400 open files") || !strings.Contains(err.Error(), "ulimit -n 2400") {
		t.Errorf("one is missing: %v", err)
	}
	if err := (&Scenario{}).CheckFiles(10); err != nil {
		t.Errorf("a zoo names no counts: %v", err)
	}
}
