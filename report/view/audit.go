package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
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

var auditMarks = []Mark{{MarkPass, "kept every guarantee"}, {MarkFail, "broke one"}, {MarkUnknown, "could not be judged"}, {MarkNone, "not applicable"}, {"", "empty: not played"}}

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
	case !slices.Contains(s.Faults, fault):
		return MarkNone, ""
	case !played:
		return "", ""
	}
	switch t.Outcome() {
	case report.Pass:
		return MarkPass, ""
	case report.Fail:
		return MarkFail, a.stories(t.Name, "")
	}
	return MarkUnknown, ""
}

// tables are the matrix, what was played with the line as a whole, and what did not pass.
func (a *audit) tables() (out []Table) {
	for _, t := range []Table{a.matrix(), a.whole(), a.failed()} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

// matrix has the steps down and the faults across.
func (a *audit) matrix() Table {
	faults := a.faults()
	t := Table{Columns: []Column{{Head: units.Clean(a.subject), Kind: Whole}}}
	var legend []string
	for i, f := range faults {
		short := string(rune('a' + i))
		t.Columns = append(t.Columns, Column{Head: units.Clean(f), Short: short, Kind: Outcome})
		legend = append(legend, short+" "+units.Clean(f))
	}
	for _, s := range a.steps {
		if s.Step == wholeLine || len(a.pairs) > 0 { // pairs take the place of single faults
			continue
		}
		r := Row{Cells: []string{units.Clean(s.Step)}, Links: []string{""}}
		for _, f := range faults {
			mark, link := a.mark(s, f)
			r.Cells, r.Links = append(r.Cells, mark), append(r.Links, link)
		}
		t.Rows = append(t.Rows, r)
	}
	t.Marks, t.Legend = auditMarks, strings.Join(legend, ", ")+"."
	return t
}

// whole has what was done with the line as a whole.
func (a *audit) whole() Table {
	t := Table{Columns: []Column{{Head: units.Clean(a.subject) + ", the whole line", Kind: Whole}, {Head: "", Kind: Outcome}}}
	for _, s := range a.steps {
		if s.Step != wholeLine {
			continue
		}
		for _, f := range s.Faults {
			mark, link := a.mark(s, f)
			t.Rows = append(t.Rows, Row{Cells: []string{units.Clean(f), mark}, Links: []string{"", link}})
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b Row) int { return cmp.Compare(wholeRank[a.Cells[1]], wholeRank[b.Cells[1]]) })
	return t
}

// wholeRank puts what failed first: a terminal shows the first rows only.
var wholeRank = map[string]int{MarkFail: -2, MarkUnknown: -1}

// failedLimit bounds how many cells are listed that did not pass.
const failedLimit = 40

// failed lists the cells that did not pass, and how to play each alone.
func (a *audit) failed() Table {
	t := Table{Columns: []Column{{Head: "cell", Kind: Whole}, {Head: "result", Kind: Status}, {Head: "to play it alone", Kind: Code}}}
	for _, c := range a.inOrder() {
		if c.Outcome() == report.Pass {
			continue
		}
		if len(t.Rows) < failedLimit {
			t.Rows = append(t.Rows, Row{Result: c.Outcome(), Cells: []string{units.Clean(c.Provocation), status(c), a.command(c)}})
		}
	}
	n := a.count()
	if more := n.Fail + n.Unknown - failedLimit; more > 0 {
		t.Left, t.Note = more, "and "+strconv.Itoa(more)+" more"
	}
	return t
}

// command plays one cell alone. Only the run's own scenario knows how a driver is started.
func (a *audit) command(t report.Trial) string {
	if _, driven := t.Metrics[metrics.PipeRoundtrip]; driven && a.run.Command != "" {
		return fmt.Sprintf("%s --subject %s --set 'phases.0.cells=[\"%s\"]'", a.run.Command, units.Clean(a.subject), units.Clean(t.Provocation))
	}
	s := fmt.Sprintf("zkbench audit %s --cell '%s' --seed %d", units.Clean(a.subject), units.Clean(t.Provocation), a.run.Seed)
	if kind := a.run.Ensemble.Kind; kind != "" {
		s += " --ensemble " + units.Clean(kind)
	}
	return s
}

// tally sums up the audits of several subjects: a row each.
func tally(all []*audit) Table {
	t := Table{Columns: []Column{{Head: "subject", Kind: Whole}, number("steps", 0, nil).Column, number("cells", 0, nil).Column,
		number("kept all", 0, nil).Column, number("broke one", 0, nil).Column, number("unknown", 0, nil).Column}}
	for _, a := range all {
		steps, cells := a.planned()
		n := a.count()
		r := Row{Cells: []string{units.Clean(a.subject)}}
		for _, v := range []int{steps, cells, n.Pass, n.Fail, n.Unknown} {
			r.Cells = append(r.Cells, units.Number(float64(v)))
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

// inOrder lists the cells in the order of the matrix.
func (a *audit) inOrder() (out []report.Trial) {
	for _, s := range a.steps {
		for _, f := range s.Faults {
			if t, played := a.cells[s.Step+"/"+f]; played {
				out = append(out, t)
			}
		}
	}
	for _, name := range a.pairs {
		out = append(out, a.cells[name])
	}
	return out
}

func (a *audit) count() (n report.Tally) {
	for _, t := range a.inOrder() {
		n.Add(t.Outcome())
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
	n, unproven, again := a.count(), 0, 0
	for _, t := range a.inOrder() {
		if t.Unproven() > 0 {
			unproven++
		}
		if t.Again > 0 {
			again++
		}
	}
	played := fmt.Sprintf("%d of %s played", n.All(), units.Plural(cells, "cell"))
	if len(a.pairs) > 0 {
		played = units.Plural(len(a.pairs), "pair") + " of faults and calm episodes played"
	}
	return fmt.Sprintf("%s: %s seen; %s, %d of them again because a step had not come: %d kept every guarantee, %d broke one, %d could not be judged (%d for want of proof).",
		units.Clean(a.subject), units.Plural(steps, "step"), played, again, n.Pass, n.Fail, n.Unknown, unproven)
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
