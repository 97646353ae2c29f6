// Package view determines the content of a report: its texts, and their order. It builds a
// [View] from a result and the data of its histories, which the renderers of package render write.
package view

import (
	"fmt"
	"slices"

	"github.com/zkbench/zkbench/report"
	"github.com/zkbench/zkbench/report/explain"
	"github.com/zkbench/zkbench/report/matrix"
	"github.com/zkbench/zkbench/report/plot"
	"github.com/zkbench/zkbench/report/units"
	"github.com/zkbench/zkbench/report/verdict"
)

// View is the content of a report. Texts are plain and may contain any characters: each
// renderer must escape them.
type View struct {
	Name         string // the scenario, "compare" or "trend"
	Page         string // the file of the page, and the command that creates it if it does not exist
	Description  string // the scenarios of the run, in a sentence
	Result       string // report.Pass, Fail or Unknown; "" for a trend
	Verdict      string // the result in a sentence, with the broken guarantees
	Scorecard    *Table // results by subject and guarantee; nil if nothing was checked
	Findings     []Finding
	Brief        []Table       // the tables for a terminal
	Tables       []Table       // the numbers: one table per scenario, or per cell of a comparison
	Explanations []Explanation // explanations of failed verdicts
	Shown        int           // number of explanations to show on a terminal, from the first
	More         []string      // where to find the other explanations, for a terminal
	Sections     []Section
	Figures      []*plot.Figure
	Suites       []Suite           // all checks, for CI systems
	Scenarios    []matrix.Scenario // the trials, for benchstat
	Origin       string            // date, versions, machine and seed
	PageOnly     bool              // only the page of the run is kept: there are no files to link to
	Run          report.Run

	dir    string   // the run folder, for use in commands
	abouts []string // descriptions of the scenarios
}

// Input is the data of a view. Only Result is required.
type Input struct {
	Result       report.Result
	Traces       map[string]*report.Trace // by trial name
	Explanations []explain.Explanation
	// Dir is the run folder, for use in commands. ExplainExpected includes the explanations of deliberately
	// broken subjects. PageOnly is set if only the page of the run is kept, NoPage if there is no
	// page yet.
	Dir             string
	NoPage          bool
	ExplainExpected bool
	PageOnly        bool
}

// New returns the view of a run.
func New(in Input) *View {
	r := in.Result
	b := builder{Input: in, scenarios: matrix.GroupScenarios(r.Trials), names: matrix.NamesOf(r.Trials)}
	b.trials = mergedCells(b.scenarios)
	v := &View{
		Name: r.Run.Scenario, Page: b.page(), Result: r.Outcome(), Scorecard: b.scorecard(),
		Figures: b.figures(), Scenarios: b.scenarios,
		Origin: origin(r.Run), PageOnly: in.PageOnly, Run: r.Run, dir: in.Dir,
	}
	v.Findings = b.comparisonFindings()
	for _, s := range b.scenarios {
		b.addScenario(v, s)
	}
	v.Description = b.scenarioSummary(v.abouts)
	v.Findings = append(v.Findings, b.findings()...)
	v.Tables, v.Brief = withRows(v.Tables...), withRows(v.Brief...)
	v.Suites = append(v.Suites, b.suites()...)
	v.Verdict = b.verdict(v)
	v.Explanations, v.Shown, v.More = b.explanations()
	v.Sections = b.sections(v)
	return v
}

func (b builder) addScenario(v *View, s matrix.Scenario) {
	switch {
	case isAudit(s):
		b.addAudit(v, s)
	case isZoo(s):
		v.addZoo(s.Name, ofScenario(b.Result.Trials, s.Name))
	default:
		v.abouts = append(v.abouts, describeScenario(s))
		v.Findings = append(v.Findings, b.measuresOf(s)...)
		v.Tables = append(v.Tables, trialTable(ofScenario(b.trials, s.Name)))
		v.Brief = append(v.Brief, trialTable(b.briefTrials(s)).LimitRows(briefRows))
	}
}

// page returns the file of the page, and the command that creates it if it does not exist yet.
func (in Input) page() string {
	if in.NoPage {
		return fmt.Sprintf("%s (to create it: zkbench report %s)", report.PageFile, in.Dir)
	}
	return report.PageFile
}

type builder struct {
	Input
	scenarios []matrix.Scenario
	names     matrix.Names
	trials    []report.Trial // one per cell, as in the tables: see inOrder
}

// Finding is a sentence of the result. Findings are ordered by kind, and then by importance.
type Finding struct {
	Kind      Kind
	Text      string   // a sentence, or the name of the check if the kind is Broken or Undecided
	Why       string   // the reason why the check is broken or open
	Link      string   // id of its proof on the page; empty if there is no proof
	Subject   string   // the subject under test, if the kind is Broken or Undecided
	TrialName string   // the trial, if the kind is Broken or Undecided
	Under     []string // the faults that were active
	Cell      string   // the cell of an audit
	More      int      // number of other trials with the same finding; see Ranked
}

// Kind is the kind of a finding.
type Kind string

// The kinds of finding.
const (
	Measurement Kind = "measures"  // a measurement
	Doubt       Kind = "doubt"     // a limitation of the result of the run as a whole
	Note        Kind = "note"      // additional information that other findings or tables show too
	Broken      Kind = "broken"    // a guarantee or a threshold does not hold
	Undecided   Kind = "undecided" // it is unknown whether a guarantee or a threshold holds
)

const (
	reasonLength     = 200
	incompleteLength = 500 // for a trial that did not complete: its reason includes the last output of a driver
	firstFindings    = 5   // findings that are not collapsed
)

// String returns the finding as one line.
func (f Finding) String() string {
	if why := f.Reason(); why != "" {
		return f.Head() + ": " + why
	}
	return f.Head()
}

// Head returns the finding without its reason.
func (f Finding) Head() string {
	s := units.Clean(f.Text)
	if f.Kind == Broken || f.Kind == Undecided {
		s += " in " + f.Where()
	}
	if f.More > 0 {
		s += " and " + units.Plural(f.More, "more "+f.trial())
	}
	return s
}

// Where returns the trial, and the faults that were active.
func (f Finding) Where() string { return f.TrialName + underFaults(f.Under) }

// Reason returns the reason as one line.
func (f Finding) Reason() string {
	limit := reasonLength
	if f.Text == verdict.Completed {
		limit = incompleteLength
	}
	return units.Truncate(units.ShortenReason(f.Why), limit)
}

// FindingsOf returns the findings of the given kinds.
func (v *View) FindingsOf(kinds ...Kind) []Finding {
	return slices.DeleteFunc(slices.Clone(v.Findings), func(f Finding) bool { return !slices.Contains(kinds, f.Kind) })
}

// Ranked returns the findings ordered by importance: first contains the findings to show, rest the
// findings that may be collapsed. A finding that several trials of a subject share is included once.
func (v *View) Ranked() (first, rest []Finding) {
	var all []Finding
	for _, kind := range []Kind{Broken, Doubt, Undecided, Measurement, Note} {
		for _, f := range v.FindingsOf(kind) {
			i := slices.IndexFunc(all, func(o Finding) bool {
				return o.Subject != "" && o.Kind == kind && o.Text == f.Text && o.Subject == f.Subject
			})
			if i < 0 {
				all = append(all, f)
			} else {
				all[i].More++
			}
		}
	}
	n := min(len(all), firstFindings)
	return all[:n], all[n:]
}
