package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/scenarios"
)

// listIncidents lists the incidents with their reports and reproductions.
func listIncidents(w io.Writer) error {
	for _, name := range scenarios.Incidents() {
		s, err := builtIn(name)
		if err != nil {
			return err
		}
		i := s.Incident
		told := []string{s.About, "thread: " + i.Thread, "why: " + i.Cause}
		for _, x := range s.Specimens {
			told = append(told, fmt.Sprintf("%s, provoked by %s: %s", x.Subject, x.Provocation, becomes(x)))
		}
		if i.Tried != "" {
			told = append(told, "does not show: "+i.Tried)
		}
		fmt.Fprintf(w, "  %s\n", filled(name+" ("+i.Version+")", 4, 80))
		for _, line := range told {
			fmt.Fprintf(w, "    %s\n", filled(line, 4, 80))
		}
	}
	return nil
}

// becomes returns the guarantees that a specimen breaks, as text.
func becomes(x scenarios.Specimen) string {
	if len(x.Caught) == 0 {
		return "keeps every guarantee"
	}
	return "breaks " + units.List(x.Caught)
}

func builtIn(name string) (*scenarios.Scenario, error) {
	name, text, err := scenarios.Source(name)
	if err != nil {
		return nil, err
	}
	return scenarios.Load(name, text)
}

// incidentError returns nil if an incident was reproduced, otherwise the error for the exit code.
func incidentError(w io.Writer, s *scenarios.Scenario, result string) error {
	i, broken := s.Incident, strings.Join(s.Caught(), ", ")
	switch {
	case result == report.Unknown:
		return coded{fmt.Errorf("%s: unknown whether it reproduced", s.Name), exitUnknown}
	case result == report.Pass && broken != "":
		_, err := fmt.Fprintf(w, "%s reproduced: %s broken, as described in %s\n", s.Name, broken, i.Thread)
		return err
	case result == report.Pass:
		_, err := fmt.Fprintf(w, "%s does not show, as expected: %s\n", s.Name, i.Tried)
		return err
	case broken != "":
		return coded{fmt.Errorf("%s did NOT reproduce: %s passed; it failed with %s", s.Name, broken, i.Version), exitBroken}
	}
	return coded{fmt.Errorf("%s shows after all: a guarantee was broken that was not with %s", s.Name, i.Version), exitBroken}
}
