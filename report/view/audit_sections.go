package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// suite has a check for each cell.
func (a *audit) suite(scenario string) Suite {
	s := Suite{Name: scenario + " " + a.subject, Class: scenario + "." + a.subject}
	for _, t := range a.inOrder() {
		c := Check{What: t.Provocation, Result: t.Outcome()}
		for _, k := range append(checks(t), withoutProof(t)...) {
			if k.Result == c.Result && k.Result != report.Pass {
				c.Reasons = append(c.Reasons, k.What+": "+strings.Join(k.Reasons, "; "))
			}
		}
		if c.Result != report.Pass {
			c.Reasons = append(c.Reasons, "to play it alone: "+a.command(t))
		}
		s.Checks = append(s.Checks, c)
	}
	return s
}

func askedInAudit(s matrix.Scenario) string {
	var subjects []string
	for _, x := range s.Series {
		if !slices.Contains(subjects, x.Subject) {
			subjects = append(subjects, x.Subject)
		}
	}
	return fmt.Sprintf("%s: every step of the protocol of %s, with every fault that fits it", units.Clean(s.Name), units.List(subjects))
}

// auditID is the part of the page that has the audits.
const auditID = "audit"

// matrices is the part of the page that has the audits.
func (b builder) matrices() Section {
	s := Section{ID: auditID, Title: "Every step, every fault", Intro: "Each cell is an episode of its own. What failed leads to its explanation."}
	for _, scenario := range b.scenarios {
		if audited(scenario) {
			for _, a := range b.audits(scenario) {
				s.Blocks = append(s.Blocks, tableBlocks(a.tables())...)
			}
		}
	}
	return s
}

// auditSections are those of all that say something of an audit, with the matrices first:
// what is measured in an episode, and a table of all that passed, say nothing.
func (b builder) auditSections(all []Section) []Section {
	all = append([]Section{b.matrices()}, all...)
	return slices.DeleteFunc(all, func(s Section) bool {
		return len(s.Blocks) == 0 || !slices.Contains([]string{auditID, "stories", "conditions", "repeat"}, s.ID)
	})
}
