package scenarios

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
)

// Incident describes a published failure of a library's users that the scenario reproduces. The
// scenario's about describes the incident.
type Incident struct {
	Thread  string `yaml:"thread"`          // address of the report
	Version string `yaml:"version"`         // of the library when this was written, such as kazoo 2.8.0
	Cause   string `yaml:"cause"`           // the lines of the library that cause it
	Tried   string `yaml:"tried,omitempty"` // if it cannot be reproduced: the attempts, and why they are not sufficient
}

// incidentDir is the folder of the incidents, and the prefix of their names.
const (
	incidentDir = "incidents/"
	incident    = "incident/"
)

// Incidents returns the names of all incidents in order, as [Source] accepts them.
func Incidents() []string {
	files, _ := fs.Glob(builtin, incidentDir+"*.yaml")
	return namesOf(files, func(f string) string {
		return incident + strings.TrimSuffix(strings.TrimPrefix(f, incidentDir), ".yaml")
	})
}

// Caught returns the guarantees that the scenario's subjects are known to break, in order; none for
// other scenarios and sound subjects.
func (s *Scenario) Caught() (names []string) {
	for _, x := range s.Specimens {
		for _, name := range x.Caught {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// told returns the scenario's incident for the result, or nil.
func (s *Scenario) told() *report.Incident {
	i := s.Incident
	if i == (Incident{}) {
		return nil
	}
	return &report.Incident{About: s.About, Thread: i.Thread, Version: i.Version, Cause: i.Cause, Tried: i.Tried}
}

// validateIncident checks that an incident is complete, and either reproduces the failure or
// explains why it cannot.
func (s *Scenario) validateIncident(bad problemFunc) {
	i := s.Incident
	if i == (Incident{}) {
		return
	}
	for field, text := range map[string]string{"thread": i.Thread, "version": i.Version, "cause": i.Cause} {
		if text == "" {
			bad("incident."+field, "is needed: an incident has a thread, a version and a cause")
		}
	}
	switch shows := len(s.Caught()) > 0; {
	case len(s.Specimens) == 0:
		bad("incident", "requires specimens, which say which fault is injected")
	case shows && i.Tried != "":
		bad("incident.tried", "is for bugs that do not reproduce, but a specimen is detected")
	case !shows && i.Tried == "":
		bad("incident.tried", "is required: no specimen is detected, so describe what was tried")
	}
}
