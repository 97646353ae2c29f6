package view

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// asked says what the run was asked.
func (b builder) asked() string {
	var parts []string
	for _, s := range b.scenarios {
		switch {
		case audited(s):
			parts = append(parts, askedInAudit(s))
		case zoo(s):
			parts = append(parts, askedInZoo(s))
		case s.Name == "":
			parts = append(parts, "histories that cannot be opened")
		default:
			parts = append(parts, askedOf(s))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Scenario %s: no trial was run.", units.Clean(b.Result.Run.Scenario))
	}
	return strings.Join(parts, "; ") + against(b.Result.Run.Ensemble) + from(b.Result.Run.Agents) + "." + leftOut(b.Result.Run.LeftOut)
}

// leftOut says what was not asked after all, and why.
func leftOut(all []report.LeftOut) string {
	var parts []string
	for _, l := range all {
		parts = append(parts, fmt.Sprintf("%s in %s (%s)", units.Clean(l.Fault), units.Clean(l.Phase), units.Clean(l.Why)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Left out, because it cannot be had here: " + strings.Join(parts, "; ") + "."
}

func askedOf(s matrix.Scenario) string {
	var subjects, counts []string
	for _, x := range s.Series {
		subjects = append(subjects, x.Label)
	}
	for _, n := range s.Counts {
		counts = append(counts, strconv.Itoa(n))
	}
	noun := s.Noun()
	if len(counts) != 1 || counts[0] != "1" {
		noun += "s"
	}
	return fmt.Sprintf("%s: %s with %s %s", units.Clean(s.Name), units.List(subjects), units.List(counts), noun)
}

func against(e report.Ensemble) string {
	if e.Kind == "" {
		return ""
	}
	return fmt.Sprintf(", against %s (%s ensemble)", size(e), units.Clean(e.Kind))
}

// from says which agents carried the clients.
func from(agents []string) string {
	var names []string
	for _, a := range agents {
		names = append(names, units.Clean(a))
	}
	switch len(names) {
	case 0:
		return ""
	case 1, 2, 3, 4, 5:
		return ", from " + units.Plural(len(names), "agent") + " (" + strings.Join(names, ", ") + ")"
	}
	return fmt.Sprintf(", from %d agents (%s to %s)", len(names), names[0], names[len(names)-1])
}

// size says how many members there were, by their role: "5 members and 2 observers".
func size(e report.Ensemble) string {
	members := units.Plural(e.Members, "member")
	if n := len(e.Observers); n > 0 {
		members += " and " + units.Plural(n, "observer")
	}
	return members
}

// where names a trial, given the label of its series. Nothing else in the run has the
// same name.
func where(label string, t report.Trial) string {
	switch {
	case t.Subject == "": // its history could not be opened
		return units.Clean(t.Name)
	case t.Step != "":
		return label
	}
	s := fmt.Sprintf("%s at %s", label, matrix.Count{N: t.Clients, Noun: matrix.Noun(t)})
	if n := t.Repetition; n > 0 {
		s += fmt.Sprintf(", trial %d", n)
	}
	return s
}

// inOrder lists the trials cell by cell: by scenario, by count of clients, and within
// it by series, so that what is compared stands together. Repetitions of a cell stand as
// one. The subject of each is the label of its series.
func inOrder(trials []report.Trial) []report.Trial {
	var out []report.Trial
	for _, s := range matrix.Of(trials) {
		for _, n := range s.Counts {
			for _, x := range s.Series {
				if at := x.At(n); len(at) > 0 {
					t := matrix.Merge(at)
					t.Subject = x.Label
					out = append(out, t)
				}
			}
		}
	}
	return out
}

// ofScenario returns the trials of one scenario.
func ofScenario(trials []report.Trial, name string) []report.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t report.Trial) bool { return t.Scenario != name })
}
