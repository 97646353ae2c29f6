package scenarios

import (
	"strings"
	"testing"
)

func TestScenario_saysHowToHaveEnoughFiles(t *testing.T) {
	s := &Scenario{Clients: []int{100, 2000}}
	if err := s.enoughFiles(2000 + otherFiles); err != nil {
		t.Errorf("there are enough: %v", err)
	}
	err := s.enoughFiles(2000 + otherFiles - 1)
	if err == nil || !strings.Contains(err.Error(), "2000 clients need 2400 open files") || !strings.Contains(err.Error(), "ulimit -n 2400") {
		t.Errorf("one is missing: %v", err)
	}
	if err := (&Scenario{}).enoughFiles(10); err != nil {
		t.Errorf("a zoo names no counts: %v", err)
	}
}

// What is needed is what there is on this machine, and not the soft limit of a shell.
func TestOpenFiles_areKnown(t *testing.T) {
	if most, ok := openFiles(); ok && most < 100 {
		t.Errorf("up to %d files can be open, and this test runs", most)
	}
}
