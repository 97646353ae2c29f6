package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// The marks in a matrix, which can be distinguished without colors. A cell that was not run is
// empty.
const (
	MarkPass    = "ok"
	MarkFail    = "X"
	MarkUnknown = "?"
	MarkNone    = "-"
	MarkIdle    = "." // not exercised
)

var auditMarks = []Mark{{MarkPass, "kept every guarantee"}, {MarkFail, "broke at least one"}, {MarkUnknown, "unknown"}, {MarkNone, "not applicable"}, {"", "empty: not run"}}

// pairSign separates the two faults of a cell with a pair of faults.
const pairSign = " + "

// wholeLine is the step name of scripts that do not concern a single step.
const wholeLine = "all"

// isAudit reports whether the scenario's trials are the cells of an audit.
func isAudit(s matrix.Scenario) bool {
	return slices.ContainsFunc(seriesOrder([]matrix.Scenario{s}), func(t report.Trial) bool { return t.Step != "" })
}

// onlyAudits reports whether all scenarios of the run are audits.
func (b builder) onlyAudits() bool {
	return len(b.scenarios) > 0 && !slices.ContainsFunc(b.scenarios, func(s matrix.Scenario) bool { return !isAudit(s) })
}

// audit contains the cells of one subject.
type audit struct {
	subject  string
	steps    []report.Step // observed steps, in the order of the protocol
	cells    map[string]report.Trial
	stories  func(trial, guarantee string) string // returns the id of a story
	order    []string                             // names of the cells, in the order of the trials
	pairs    []string                             // names of the cells with two faults; they have no row
	run      report.Run
	selected bool // only selected cells were run: other cells are not known
}

// audits returns the audits of a scenario, ordered by subject.
func (b builder) audits(s matrix.Scenario) (all []*audit) {
	for _, t := range ofScenario(b.Result.Trials, s.Name) {
		i := slices.IndexFunc(all, func(a *audit) bool { return a.subject == t.Subject })
		if i < 0 {
			i = len(all)
			all = append(all, &audit{subject: t.Subject, cells: map[string]report.Trial{}, stories: b.storyOf, run: b.Result.Run})
		}
		all[i].add(t)
	}
	for _, a := range all {
		a.complete()
	}
	slices.SortFunc(all, func(x, y *audit) int { return strings.Compare(x.subject, y.subject) })
	return all
}

func (a *audit) add(t report.Trial) {
	if len(t.Steps) > 0 {
		a.steps = t.Steps
	}
	if previous, seen := a.cells[t.Provocation]; seen {
		t = matrix.Merge([]report.Trial{previous, t})
	} else {
		a.order = append(a.order, t.Provocation)
	}
	a.cells[t.Provocation] = t
}

// complete adds rows for cells that were run without recording the steps first.
func (a *audit) complete() {
	seen := len(a.steps) > 0
	a.selected = !seen
	for _, name := range a.order {
		t := a.cells[name]
		if strings.Contains(name, pairSign) {
			a.pairs = append(a.pairs, name)
			continue
		}
		i := slices.IndexFunc(a.steps, func(s report.Step) bool { return s.Step == t.Step })
		switch {
		case i < 0:
			a.steps = append(a.steps, report.Step{Step: t.Step, Faults: []string{t.Fault}})
		case !seen:
			a.steps[i].Faults = append(a.steps[i].Faults, t.Fault)
		}
	}
}

// faults returns the columns: the faults of the step with the most faults, then the faults of other steps.
func (a *audit) faults() (out []string) {
	rows := slices.DeleteFunc(slices.Clone(a.steps), func(s report.Step) bool { return s.Step == wholeLine })
	slices.SortStableFunc(rows, func(x, y report.Step) int { return len(y.Faults) - len(x.Faults) })
	for _, s := range rows {
		for _, f := range s.Faults {
			if !slices.Contains(out, f) {
				out = append(out, f)
			}
		}
	}
	return out
}

func (a *audit) mark(s report.Step, fault string) (mark, link string) {
	t, exists := a.cells[s.Step+"/"+fault]
	switch {
	case !exists && (a.selected || slices.Contains(s.Faults, fault)):
		return "", ""
	case !exists:
		return MarkNone, ""
	}
	switch t.Outcome() {
	case report.Pass:
		if t.Inapplicable() != "" {
			return MarkNone, ""
		}
		return MarkPass, ""
	case report.Fail:
		return MarkFail, a.stories(t.Name, "")
	}
	return MarkUnknown, ""
}

func (a *audit) count() (n report.Tally) {
	for _, t := range a.ordered() {
		if out := t.Outcome(); out != report.Pass || t.Inapplicable() == "" {
			n.Add(out)
		}
	}
	return n
}

// planned counts the steps of the protocol, and all cells.
func (a *audit) planned() (steps, cells int) {
	for _, s := range a.steps {
		cells += len(s.Faults)
		if s.Step != wholeLine {
			steps++
		}
	}
	return steps, cells
}

// summary returns the coverage and the results.
func (a *audit) summary() string {
	steps, cells := a.planned()
	n, unproven, repeated, notApplicable := a.count(), 0, 0, 0
	for _, t := range a.ordered() {
		if t.Unproven() > 0 {
			unproven++
		}
		if t.Again > 0 {
			repeated++
		}
		if t.Outcome() == report.Pass && t.Inapplicable() != "" {
			notApplicable++
		}
	}
	coverage := fmt.Sprintf("%d of %s run", n.All()+notApplicable, units.Plural(cells, "cell"))
	if len(a.pairs) > 0 {
		coverage = units.Plural(len(a.pairs), "pair") + " of faults and episodes without faults run"
	}
	more := ""
	if notApplicable > 0 {
		more = fmt.Sprintf(", %d not applicable", notApplicable)
	}
	return fmt.Sprintf("%s: %s observed; %s, %d of them repeated because their step did not occur: %d kept every guarantee, %d broke at least one, %d unknown (%d without proof of the fault)%s.",
		units.Clean(a.subject), units.Plural(steps, "step"), coverage, repeated, n.Pass, n.Fail, n.Unknown, unproven, more)
}

func (b builder) auditHeadlines(s matrix.Scenario) []Headline {
	of := func(title string, number func(a *audit) string) Headline {
		h := Headline{Title: title, Tabled: true}
		all := b.audits(s)
		for _, a := range all[:min(len(all), valueLimit)] {
			v := Value{Text: number(a)}
			if len(all) > 1 {
				v.Subject = units.Clean(a.subject)
			}
			h.Values = append(h.Values, v)
		}
		if more := len(all) - valueLimit; more > 0 {
			h.More = fmt.Sprintf("and %d more", more)
		}
		return h
	}
	return []Headline{
		of("cells that kept every guarantee", func(a *audit) string { n := a.count(); return fmt.Sprintf("%d of %d", n.Pass, n.All()) }),
		of("cells that broke at least one", func(a *audit) string { return units.Number(float64(a.count().Fail)) }),
		of("cells with an unknown result", func(a *audit) string { return units.Number(float64(a.count().Unknown)) }),
	}
}
