package view

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
)

// incident returns the page section that describes the known bug that the run reproduces.
func (b builder) incident() Section {
	i := b.Result.Run.Incident
	if i == nil {
		return Section{}
	}
	facts := []Fact{{"what happened", i.About}, {"version", i.Version}, {"reported in", i.Thread}, {"cause", i.Cause}}
	if i.Tried != "" {
		facts = append(facts, Fact{"not reproduced", i.Tried})
	}
	return Section{ID: "incident", Title: "Known bug", Blocks: []Block{{Facts: facts}}}
}

// incidentResult returns whether the bug was reproduced, given a row of the zoo's table.
func incidentResult(r Row) string {
	switch {
	case r.Result == report.Unknown:
		return report.Unknown
	case r.Cells[2] == mustPass && r.Result == report.Pass:
		return "not reproduced"
	case r.Result == report.Pass:
		return "reproduced"
	}
	return "NOT as expected: " + strings.TrimPrefix(r.Cells[3], "NO: ")
}

// zooFirst moves the table of a zoo's trials, which is its result, before the stories.
func (b builder) zooFirst(all []Section) []Section {
	if slices.ContainsFunc(b.scenarios, func(s matrix.Scenario) bool { return !isZoo(s) || isAudit(s) }) {
		return all
	}
	trials := slices.IndexFunc(all, func(s Section) bool { return s.ID == "trials" })
	stories := slices.IndexFunc(all, func(s Section) bool { return s.ID == "stories" })
	first := all[trials]
	first.Title = "Detected defects"
	return slices.Insert(slices.Delete(all, trials, trials+1), stories, first)
}

// IncidentTable lists the provocations in runs of incidents, and their results.
func IncidentTable(runs ...report.Result) Table {
	t := Table{Columns: []Column{{Head: "version", Kind: Whole}, {Head: "what happened"}, {Head: "provoked by", Kind: Code}, {Head: "breaks"}, {Head: "here", Kind: Status}}}
	for _, r := range runs {
		if r.Run.Incident == nil {
			continue
		}
		z := zooTable(r.Trials)
		for _, row := range z.Rows {
			breaks, here := row.Cells[2], incidentResult(row)
			if breaks == mustPass {
				breaks = "nothing"
			}
			t.Rows = append(t.Rows, Row{Result: row.Result, Cells: []string{r.Run.Incident.Version, r.Run.Incident.About, row.Cells[0] + ": " + row.Cells[1], breaks, here}})
		}
	}
	return t
}
