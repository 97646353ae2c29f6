package view

import (
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
)

// incident is the part of the page that says which known mistake the run was to show.
func (b builder) incident() Section {
	i := b.Result.Run.Incident
	if i == nil {
		return Section{}
	}
	told := []Fact{{"what happened", i.About}, {"with", i.Version}, {"told in", i.Thread}, {"why", i.Cause}}
	if i.Tried != "" {
		told = append(told, Fact{"does not show", i.Tried})
	}
	return Section{ID: "incident", Title: "A known mistake", Blocks: []Block{{Facts: told}}}
}

// shows says whether the mistake showed, of a row of the zoo's table.
func shows(r Row) string {
	switch {
	case r.Result == report.Unknown:
		return report.Unknown
	case r.Cells[2] == mustPass && r.Result == report.Pass:
		return "does not show"
	case r.Result == report.Pass:
		return "shows"
	}
	return "NOT as known: " + strings.TrimPrefix(r.Cells[3], "NO: ")
}

// zooFirst moves the table of the trials of a zoo, which is its answer, before the stories.
func (b builder) zooFirst(all []Section) []Section {
	if slices.ContainsFunc(b.scenarios, func(s matrix.Scenario) bool { return !zoo(s) || audited(s) }) {
		return all
	}
	trials := slices.IndexFunc(all, func(s Section) bool { return s.ID == "trials" })
	stories := slices.IndexFunc(all, func(s Section) bool { return s.ID == "stories" })
	first := all[trials]
	first.Title = "Which were caught"
	return slices.Insert(slices.Delete(all, trials, trials+1), stories, first)
}

// IncidentTable lists what was provoked in runs of incidents, and what came of it.
func IncidentTable(runs ...report.Result) Table {
	t := Table{Columns: []Column{{Head: "with", Kind: Whole}, {Head: "what happened"}, {Head: "provoked by", Kind: Code}, {Head: "breaks"}, {Head: "here", Kind: Status}}}
	for _, r := range runs {
		if r.Run.Incident == nil {
			continue
		}
		z := zooTable(r.Trials)
		for _, row := range z.Rows {
			breaks, here := row.Cells[2], shows(row)
			if breaks == mustPass {
				breaks = "nothing"
			}
			t.Rows = append(t.Rows, Row{Result: row.Result, Cells: []string{r.Run.Incident.Version, r.Run.Incident.About, row.Cells[0] + ": " + row.Cells[1], breaks, here}})
		}
	}
	return t
}
