package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/units"
)

// The marks in a matrix, which can be told apart without colours. A cell of which
// nothing is known, because it was not played, stays empty.
const (
	MarkPass    = "ok"
	MarkFail    = "X"
	MarkUnknown = "?"
	MarkNone    = "-"
	MarkIdle    = "." // not judged
)

var auditMarks = []Mark{{MarkPass, "kept every guarantee"}, {MarkFail, "broke one"}, {MarkUnknown, "could not be judged"}, {MarkNone, "not applicable"}, {"", "empty: not run"}}

// pairSign stands between the faults of a cell that has two.
const pairSign = " + "

// wholeLine is the step of what is no matter of one step.
const wholeLine = "all"

// audited says whether the scenario's trials are the cells of an audit.
func audited(s matrix.Scenario) bool {
	return slices.ContainsFunc(seriesOrder([]matrix.Scenario{s}), func(t report.Trial) bool { return t.Step != "" })
}

// onlyAudits says whether the run did nothing but audit.
func (b builder) onlyAudits() bool {
	return len(b.scenarios) > 0 && !slices.ContainsFunc(b.scenarios, func(s matrix.Scenario) bool { return !audited(s) })
}

// audit is the cells of one subject.
type audit struct {
	subject string
	steps   []report.Step // that were seen; in the order of the protocol
	cells   map[string]report.Trial
	stories func(trial, guarantee string) string // the id of one
	order   []string                             // of cells, as they were named
	pairs   []string                             // of those, the ones in which two faults strike; they have no row
	run     report.Run
	chosen  bool // the cells were named: which others there are is unknown
}

// audits returns the audits of a scenario, by subject.
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
	if was, again := a.cells[t.Provocation]; again {
		t = matrix.Merge([]report.Trial{was, t})
	} else {
		a.order = append(a.order, t.Provocation)
	}
	a.cells[t.Provocation] = t
}

// complete makes rows for cells that were played without a look at the steps.
func (a *audit) complete() {
	seen := len(a.steps) > 0
	a.chosen = !seen
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

// faults are the columns: those of the step that has most, and then what others have.
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

// mark is what stands in the cell.
func (a *audit) mark(s report.Step, fault string) (mark, link string) {
	t, played := a.cells[s.Step+"/"+fault]
	switch {
	case !played && (a.chosen || slices.Contains(s.Faults, fault)):
		return "", ""
	case !played:
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
	for _, t := range a.inOrder() {
		if out := t.Outcome(); out != report.Pass || t.Inapplicable() == "" {
			n.Add(out)
		}
	}
	return n
}

// planned counts the steps of the protocol, and the cells that there are.
func (a *audit) planned() (steps, cells int) {
	for _, s := range a.steps {
		cells += len(s.Faults)
		if s.Step != wholeLine {
			steps++
		}
	}
	return steps, cells
}

// found says what was covered.
func (a *audit) found() string {
	steps, cells := a.planned()
	n, unproven, again, not := a.count(), 0, 0, 0
	for _, t := range a.inOrder() {
		if t.Unproven() > 0 {
			unproven++
		}
		if t.Again > 0 {
			again++
		}
		if t.Outcome() == report.Pass && t.Inapplicable() != "" {
			not++
		}
	}
	played := fmt.Sprintf("%d of %s played", n.All()+not, units.Plural(cells, "cell"))
	if len(a.pairs) > 0 {
		played = units.Plural(len(a.pairs), "pair") + " of faults and calm episodes played"
	}
	more := ""
	if not > 0 {
		more = fmt.Sprintf(", %d not applicable", not)
	}
	return fmt.Sprintf("%s: %s seen; %s, %d of them again because a step had not come: %d kept every guarantee, %d broke one, %d could not be judged (%d for want of proof)%s.",
		units.Clean(a.subject), units.Plural(steps, "step"), played, again, n.Pass, n.Fail, n.Unknown, unproven, more)
}

// auditHeadlines count the cells of all subjects of a scenario.
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
		of("cells that broke one", func(a *audit) string { return units.Number(float64(a.count().Fail)) }),
		of("cells that could not be judged", func(a *audit) string { return units.Number(float64(a.count().Unknown)) }),
	}
}
