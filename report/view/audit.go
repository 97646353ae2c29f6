package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/metrics"
	"github.com/zkbench/zkbench/report/units"
)

// The marks in a matrix, which can be distinguished without colors. A cell that was not run is empty.
const (
	MarkPass         = "ok"
	MarkFail         = "X"
	MarkUnknown      = "?"
	MarkNone         = "-" // not promised, or not applicable
	MarkNotExercised = "." // not exercised
)

var auditMarks = []Mark{{MarkPass, "kept every guarantee"}, {MarkFail, "broke at least one"}, {MarkUnknown, "unknown"}, {MarkNone, "not applicable"}, {"", "empty: not run"}}

const (
	pairSign = " + " // separates the two faults of a cell with a pair of faults
	allSteps = "all" // the step name of scripts that do not concern a single step
)

func isAudit(s matrix.Scenario) bool {
	return slices.ContainsFunc(s.Trials(), func(t report.Trial) bool { return t.Step != "" })
}

type audit struct {
	builder
	subject  string
	steps    []report.Step // observed steps, in the order of the protocol
	cells    map[string]report.Trial
	pairs    []string // names of the cells with two faults; they have no row
	selected bool     // only selected cells were run: the other cells are unknown
}

// addAudit adds the results of an audit: a table with a row for each subject, and a matrix for each. A
// terminal shows the matrix only of a single subject.
func (b builder) addAudit(v *View, s matrix.Scenario) {
	var all []*audit
	for _, trials := range matrix.Group(ofScenario(b.Result.Trials, s.Name), subjectOf) {
		all = append(all, b.newAudit(trials))
	}
	slices.SortFunc(all, func(x, y *audit) int { return strings.Compare(x.subject, y.subject) })
	subjects := matrix.Distinct(s.Series, func(x matrix.Series) string { return x.Subject })
	v.abouts = append(v.abouts, fmt.Sprintf("%s: every step of the protocol of %s, with every applicable fault",
		units.Clean(s.Name), units.List(subjects)))
	v.Tables = append(v.Tables, tally(all))
	v.Brief = append(v.Brief, tally(all))
	for _, a := range all {
		tables := []Table{a.matrix(), a.allStepsTable()}
		v.Tables = append(v.Tables, tables...)
		if len(all) == 1 {
			v.Brief = append(v.Brief, tables...)
		}
		v.Suites = append(v.Suites, a.suite(s.Name))
	}
	failed := failedCells(all)
	v.Tables, v.Brief = append(v.Tables, failed), append(v.Brief, failed.LimitRows(briefRows))
}

func (b builder) newAudit(trials []report.Trial) *audit {
	a := &audit{builder: b, subject: trials[0].Subject, cells: map[string]report.Trial{}}
	for _, t := range trials {
		if len(t.Steps) > 0 {
			a.steps = t.Steps
		}
	}
	a.selected = len(a.steps) == 0
	for _, same := range matrix.Group(trials, func(t report.Trial) string { return t.Script }) {
		a.add(matrix.Merge(same))
	}
	return a
}

// add adds a cell, with a row if it was run without recording the steps first.
func (a *audit) add(t report.Trial) {
	a.cells[t.Script] = t
	if strings.Contains(t.Script, pairSign) {
		a.pairs = append(a.pairs, t.Script)
		return
	}
	i := slices.IndexFunc(a.steps, func(s report.Step) bool { return s.Step == t.Step })
	switch {
	case i < 0:
		a.steps = append(a.steps, report.Step{Step: t.Step, Faults: []string{t.Fault}})
	case a.selected:
		a.steps[i].Faults = append(a.steps[i].Faults, t.Fault)
	}
}

// faults returns the columns: the faults of the step with the most faults, then the faults of other steps.
func (a *audit) faults() []string {
	rows := slices.DeleteFunc(slices.Clone(a.steps), func(s report.Step) bool { return s.Step == allSteps })
	slices.SortStableFunc(rows, func(x, y report.Step) int { return len(y.Faults) - len(x.Faults) })
	var all []string
	for _, s := range rows {
		all = append(all, s.Faults...)
	}
	return matrix.Distinct(all, identity)
}

func (a *audit) mark(s report.Step, fault string) (mark, link string) {
	t, exists := a.cells[s.Step+"/"+fault]
	switch {
	case !exists && (a.selected || slices.Contains(s.Faults, fault)):
		return "", ""
	case !exists:
		return MarkNone, ""
	}
	outcome := t.Outcome()
	switch {
	case outcome == report.Pass && t.InapplicableReason() != "":
		return MarkNone, ""
	case outcome == report.Fail:
		link = a.explanationOf(t.Name, "")
	}
	return marks[outcome], link
}

func tally(all []*audit) Table {
	t := Table{Columns: []Column{{Head: "subject", Kind: NoWrap}}}
	for _, head := range []string{"steps", "cells", "kept all", "broke", "unknown", "not applicable"} {
		t.Columns = append(t.Columns, NumberColumn(head, 0))
	}
	for _, a := range all {
		steps, cells, notApplicable := 0, 0, 0
		for _, s := range a.steps {
			cells += len(s.Faults)
			if s.Step != allSteps {
				steps++
			}
		}
		var n report.Tally
		for _, t := range a.ordered() {
			if out := t.Outcome(); out == report.Pass && t.InapplicableReason() != "" {
				notApplicable++
			} else {
				n.Add(out)
			}
		}
		numbers := units.Names([]int{steps, cells + len(a.pairs), n.Pass, n.Fail, n.Unknown, notApplicable}, func(n int) string { return units.Number(float64(n)) })
		t.Rows = append(t.Rows, Row{Cells: append([]string{units.Clean(a.subject)}, numbers...)})
	}
	return t
}

func (a *audit) suite(scenario string) Suite {
	s := Suite{Name: scenario + " " + a.subject, Class: scenario + "." + a.subject}
	for _, t := range a.ordered() {
		c := Check{What: t.Script, Result: t.Outcome()}
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

func (a *audit) matrix() Table {
	faults := a.faults()
	t := Table{Columns: []Column{{Head: units.Clean(a.subject), Kind: NoWrap}}}
	t.addMarkColumns(units.Names(faults, units.Clean), auditMarks)
	for _, s := range a.steps {
		if s.Step == allSteps || len(a.pairs) > 0 { // pairs replace single faults
			continue
		}
		r := Row{Cells: []string{units.Clean(s.Step)}, Links: []string{""}}
		for _, f := range faults {
			mark, link := a.mark(s, f)
			r.Cells, r.Links = append(r.Cells, mark), append(r.Links, link)
		}
		t.Rows = append(t.Rows, r)
	}
	return t
}

func (a *audit) allStepsTable() Table {
	t := Table{Columns: []Column{{Head: units.Clean(a.subject) + ", all steps", Kind: NoWrap}, {Head: "", Kind: Outcome}}}
	for _, s := range a.steps {
		if s.Step != allSteps {
			continue
		}
		for _, f := range s.Faults {
			mark, link := a.mark(s, f)
			t.Rows = append(t.Rows, Row{Cells: []string{units.Clean(f), mark}, Links: []string{"", link}})
		}
	}
	return t
}

func failedCells(all []*audit) Table {
	t := Table{Columns: []Column{{Head: "cell", Kind: NoWrap}, {Head: "result", Kind: Status}, {Head: "to run it alone", Kind: Code}}}
	for _, a := range all {
		for _, c := range a.ordered() {
			result, words := c.Outcome(), status(c)
			if result == report.Pass {
				why := c.InapplicableReason()
				if why == "" {
					continue
				}
				result, words = report.NotJudged, "not applicable: "+units.Clean(why)
			}
			t.Rows = append(t.Rows, Row{Result: result, Cells: []string{units.Clean(c.Script), words, a.command(c)}})
		}
	}
	return t
}

// command returns the command that runs one cell of an audit. For a driver it is based on the
// command of the run, because only that scenario specifies how to start the driver.
func (b builder) command(t report.Trial) string {
	run := b.Result.Run
	if _, driven := t.Metrics[metrics.PipeRoundtrip]; driven && run.Command != "" {
		return fmt.Sprintf("%s --subject %s --set 'phases.0.cells=[\"%s\"]'", run.Command, units.Clean(t.Subject), units.Clean(t.Script))
	}
	s := fmt.Sprintf("zkbench audit %s --cell '%s' --seed %d", units.Clean(t.Subject), units.Clean(t.Script), run.Seed)
	if kind := run.Ensemble.Kind; kind != "" {
		s += " --ensemble " + units.Clean(kind)
	}
	return s
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
