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

// scenarioSummary describes the scenarios of the run in a sentence.
func (b builder) scenarioSummary() string {
	var parts []string
	for _, s := range b.scenarios {
		switch {
		case isAudit(s):
			parts = append(parts, describeAudit(s))
		case isZoo(s):
			parts = append(parts, describeZoo(s))
		case s.Name == "":
			parts = append(parts, "histories that cannot be opened")
		default:
			parts = append(parts, describeScenario(s))
		}
	}
	if len(parts) == 0 {
		return fmt.Sprintf("Scenario %s: no trial was run.", units.Clean(b.Result.Run.Scenario))
	}
	return strings.Join(parts, "; ") + ensembleText(b.Result.Run.Ensemble) + agentsText(b.Result.Run.Agents) + "." + skippedFaults(b.Result.Run.LeftOut)
}

// skippedFaults lists the skipped faults and why they were skipped.
func skippedFaults(all []report.LeftOut) string {
	var parts []string
	for _, l := range all {
		parts = append(parts, fmt.Sprintf("%s in %s (%s)", units.Clean(l.Fault), units.Clean(l.Phase), units.Clean(l.Why)))
	}
	if len(parts) == 0 {
		return ""
	}
	return " Skipped, because it is not available here: " + strings.Join(parts, "; ") + "."
}

func describeScenario(s matrix.Scenario) string {
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

func ensembleText(e report.Ensemble) string {
	if e.Kind == "" {
		return ""
	}
	return fmt.Sprintf(", against %s (%s ensemble)", size(e), units.Clean(e.Kind))
}

// agentsText lists the agents that ran the clients.
func agentsText(agents []string) string {
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

// size counts the members by role: "5 members and 2 observers".
func size(e report.Ensemble) string {
	members := units.Plural(e.Members, "member")
	if n := len(e.Observers); n > 0 {
		members += " and " + units.Plural(n, "observer")
	}
	return members
}

// trialLabel returns a description of the trial that is unique in the run, given the label of its series.
func trialLabel(label string, t report.Trial) string {
	switch {
	case t.Subject == "": // the history could not be opened
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

// mergedCells returns one merged trial for each cell, ordered by scenario, number of clients and
// series, so that compared trials are adjacent. The Subject of each is the label of its series.
func mergedCells(trials []report.Trial) []report.Trial {
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

func ofScenario(trials []report.Trial, name string) []report.Trial {
	return slices.DeleteFunc(slices.Clone(trials), func(t report.Trial) bool { return t.Scenario != name })
}
