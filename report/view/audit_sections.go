package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// suite returns a suite with a check for each cell.
func (a *audit) suite(scenario string) Suite {
	s := Suite{Name: scenario + " " + a.subject, Class: scenario + "." + a.subject}
	for _, t := range a.ordered() {
		c := Check{What: t.Provocation, Result: t.Outcome()}
		for _, k := range append(checks(t), unprovenFaults(t)...) {
			if k.Result == c.Result && k.Result != report.Pass {
				c.Reasons = append(c.Reasons, k.What+": "+strings.Join(k.Reasons, "; "))
			}
		}
		if c.Result != report.Pass {
			c.Reasons = append(c.Reasons, "to run it alone: "+a.command(t))
		}
		s.Checks = append(s.Checks, c)
	}
	return s
}

func describeAudit(s matrix.Scenario) string {
	var subjects []string
	for _, x := range s.Series {
		if !slices.Contains(subjects, x.Subject) {
			subjects = append(subjects, x.Subject)
		}
	}
	return fmt.Sprintf("%s: every step of the protocol of %s, with every applicable fault", units.Clean(s.Name), units.List(subjects))
}

// auditID is the ID of the page section with the audits.
const auditID = "audit"

// matrices returns the page section with the audits.
func (b builder) matrices() Section {
	s := Section{ID: auditID, Title: "Every step, every fault", Intro: "Each cell is a separate episode. Failed cells link to their explanation."}
	for _, scenario := range b.scenarios {
		if isAudit(scenario) {
			for _, a := range b.audits(scenario) {
				s.Blocks = append(s.Blocks, tableBlocks(a.tables())...)
			}
		}
	}
	return s
}

// auditSections returns the sections for an audit, with the matrices first. It omits
// measurements and the table of passed checks, which have no meaning for episodes.
func (b builder) auditSections(all []Section) []Section {
	all = append([]Section{b.matrices()}, all...)
	return slices.DeleteFunc(all, func(s Section) bool {
		return len(s.Blocks) == 0 || !slices.Contains([]string{auditID, "stories", "conditions", "repeat"}, s.ID)
	})
}
