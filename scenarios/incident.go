package scenarios

import (
	"io/fs"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
)

// Incident is what became of somebody who used the recipe that the scenario provokes: a
// known mistake, told in public. The scenario's about says what happened.
type Incident struct {
	Thread  string `yaml:"thread"`          // where it is told: an address
	Version string `yaml:"version"`         // of what was provoked when this was written, like kazoo 2.8.0
	Cause   string `yaml:"cause"`           // the lines that do it, or what they leave out
	Tried   string `yaml:"tried,omitempty"` // where it does not show: what was tried, and why that is not enough
}

// incidentDir is what names of incidents begin with, and where they are.
const (
	incidentDir = "incidents/"
	incident    = "incident/"
)

// Incidents returns the names of all incidents, in order, as [Source] knows them.
func Incidents() []string {
	files, _ := fs.Glob(builtin, incidentDir+"*.yaml")
	return namesOf(files, func(f string) string {
		return incident + strings.TrimSuffix(strings.TrimPrefix(f, incidentDir), ".yaml")
	})
}

// Caught returns the guarantees that the scenario's subjects are known to break, in the
// order in which they stand there; none of a scenario that is no zoo, or of sound subjects.
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

// told is the scenario's incident, for the result; nil where it is none.
func (s *Scenario) told() *report.Incident {
	i := s.Incident
	if i == (Incident{}) {
		return nil
	}
	return &report.Incident{About: s.About, Thread: i.Thread, Version: i.Version, Cause: i.Cause, Tried: i.Tried}
}

// validateIncident checks that an incident says what it is, and either shows or says why it
// does not.
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
		bad("incident", "goes with specimens, which say what is provoked")
	case shows && i.Tried != "":
		bad("incident.tried", "is for what does not show, but a specimen is caught")
	case !shows && i.Tried == "":
		bad("incident.tried", "is needed: no specimen is caught, so say what was tried")
	}
}
