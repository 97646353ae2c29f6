package spec_test

import (
	"slices"
	"strings"
	"testing"

	_ "github.com/zkbench/zkbench/recipes/foreign"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
	"github.com/zkbench/zkbench/scenarios/spec"
)

// Every incident names its source, and either reproduces the bug, with the guarantees that it breaks, or has
// what was tried.
func TestIncidents_areComplete(t *testing.T) {
	known := units.Names(verdict.All(), func(g verdict.Guarantee) string { return g.Name })
	reproduced := 0
	for _, name := range spec.Incidents() {
		t.Run(name, func(t *testing.T) {
			s := load(t, source(name))
			if i := s.Incident; !strings.HasPrefix(i.Thread, "https://") || i.Version == "" || i.Cause == "" || len(s.Specimens) == 0 || s.About == "" {
				t.Errorf("want a thread, a version, a cause, specimens and what it is about: %+v, %q", i, s.About)
			}
			if told := s.ReportedIncident(); told == nil || told.About != s.About || told.Thread != s.Incident.Thread || told.Version == "" || told.Cause == "" {
				t.Errorf("the result says %+v", told)
			}
			if spec.IncidentPrefix+s.Name != name {
				t.Errorf("%s calls itself %q", name, s.Name)
			}
			broken := s.ExpectedViolations()
			for _, guarantee := range broken {
				if !slices.Contains(known, guarantee) {
					t.Errorf("no guarantee is called %q", guarantee)
				}
			}
			if len(broken) > 0 {
				reproduced++
			}
			if (len(broken) > 0) == (s.Incident.Tried != "") {
				t.Errorf("broken: %q; tried: %q", broken, s.Incident.Tried)
			}
		})
	}
	if told := load(t, source("herd")).ReportedIncident(); told != nil {
		t.Errorf("the result of another scenario says %+v", told)
	}
	if reproduced < 8 {
		t.Errorf("%d incidents are reproduced, of %d", reproduced, len(spec.Incidents()))
	}
}
