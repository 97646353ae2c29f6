package spec_test

import (
	"testing"

	_ "github.com/zkbench/zkbench/recipes/foreign"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// Every incident names its source, and either reproduces the bug or has what was tried.
func TestIncidents_areComplete(t *testing.T) {
	for _, name := range spec.Incidents() {
		t.Run(name, func(t *testing.T) {
			_, text, err := spec.Source(name)
			if err != nil {
				t.Fatal(err)
			}
			s, err := spec.Load(name, text)
			if err != nil {
				t.Fatal(err)
			}
			i := s.Incident
			if i.Thread == "" || i.Version == "" || i.Cause == "" || len(s.Specimens) == 0 {
				t.Errorf("want a thread, a version, a cause and specimens: %+v", i)
			}
			if reproduced := len(s.ExpectedViolations()) > 0; reproduced == (i.Tried != "") {
				t.Errorf("the bug is reproduced: %t; tried: %q", reproduced, i.Tried)
			}
		})
	}
}
