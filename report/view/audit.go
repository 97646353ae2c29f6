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

func isAudit(s matrix.Scenario) bool {
	return slices.ContainsFunc(seriesOrder([]matrix.Scenario{s}), func(t report.Trial) bool { return t.Step != "" })
}

type audit struct {
	subject  string
	steps    []report.Step // observed steps, in the order of the protocol
	cells    map[string]report.Trial
	stories  func(trial, guarantee string) string // returns the id of a story
	order    []string                             // names of the cells, in the order of the trials
	pairs    []string                             // names of the cells with two faults; they have no row
	run      report.Run
	selected bool // only selected cells were run: the other cells are unknown
}

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

// planned returns the number of steps of the protocol, and of all cells.
func (a *audit) planned() (steps, cells int) {
	for _, s := range a.steps {
		cells += len(s.Faults)
		if s.Step != wholeLine {
			steps++
		}
	}
	return steps, cells
}

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

const auditID = "audit"

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

func (a *audit) tables() (out []Table) {
	for _, t := range []Table{a.matrix(), a.whole(), a.failed()} {
		if len(t.Rows) > 0 {
			out = append(out, t)
		}
	}
	return out
}

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
		if s.Step == wholeLine || len(a.pairs) > 0 { // pairs replace single faults
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

// wholeRank puts failures first, because a terminal shows only the first rows.
var wholeRank = map[string]int{MarkFail: -2, MarkUnknown: -1}

// failedLimit is the largest number of listed cells that did not pass.
const failedLimit = 40

func (a *audit) failed() Table {
	t := Table{Columns: []Column{{Head: "cell", Kind: Whole}, {Head: "result", Kind: Status}, {Head: "to run it alone", Kind: Code}}}
	all := 0
	for _, c := range a.ordered() {
		result, words := c.Outcome(), status(c)
		if result == report.Pass {
			why := c.Inapplicable()
			if why == "" {
				continue
			}
			result, words = report.NotJudged, "not applicable: "+units.Clean(why)
		}
		if all++; all <= failedLimit {
			t.Rows = append(t.Rows, Row{Result: result, Cells: []string{units.Clean(c.Provocation), words, a.command(c)}})
		}
	}
	if more := all - failedLimit; more > 0 {
		t.Left, t.Note = more, "and "+strconv.Itoa(more)+" more"
	}
	return t
}

// command returns the command that runs one cell. For a driver it is based on the command of
// the run, because only that scenario specifies how to start the driver.
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

// tally summarizes several audits, one row each.
func tally(all []*audit) Table {
	t := Table{Columns: []Column{{Head: "subject", Kind: Whole}, number("steps", 0, nil).Column, number("cells", 0, nil).Column,
		number("kept all", 0, nil).Column, number("broke", 0, nil).Column, number("unknown", 0, nil).Column}}
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

func (a *audit) ordered() (out []report.Trial) {
	for _, s := range a.steps {
		for _, f := range s.Faults {
			if t, exists := a.cells[s.Step+"/"+f]; exists {
				out = append(out, t)
			}
		}
	}
	for _, name := range a.pairs {
		out = append(out, a.cells[name])
	}
	return out
}
