// Package view decides what there is to say about a run, in which words and in which
// order. It builds one value, a [View], of a result and of what its histories show.
// The renderers of package render write it down, and add nothing.
//
//	v := view.Of(view.Input{Result: r})
//	fmt.Println(v.Verdict) // Passed: all 24 verdicts and all 6 thresholds hold.
//
// A comparison of two runs, and a history of many, are Views too: see package compare.
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

// View is what there is to say. Text is plain and may hold anything that a name can
// hold: each renderer escapes it in its own way.
type View struct {
	Name      string // what it is about: the scenario, "compare" or "trend"
	Page      string // its page's file, and how that is made where it is not there
	Asked     string // what was asked, in a sentence
	Result    string // report.Pass, Fail or Unknown; "" where nothing is judged
	Verdict   string // the same in a sentence, with what was broken
	Scorecard *Table // what became of each guarantee of each subject; nil where nothing was judged
	Headlines []Headline
	Findings  []Finding
	Brief     []Table  // what a terminal shows of the tables; nil: all
	Tables    []Table  // the answer in numbers: one a scenario, or one a cell of a comparison
	Stories   []Story  // failed verdicts, explained
	Screen    bool     // a terminal has one screen for it
	Shown     int      // how many stories a terminal shows; they stand first
	More      []string // where a terminal's reader finds the others
	Sections  []Section
	Figures   []*plot.Figure
	Suites    []Suite    // every check, for CI systems
	Measured  []Measured // numbers, for benchstat
	Better    []string   // the units of Measured that are better when higher
	Origin    string     // what it was made of, in a sentence
	Alone     bool       // nothing of the run is kept but its page: there are no files to link to
	Run       report.Run

	dir string // the run folder, to be named in commands
}

// Input is what a view is made of. Only the result is needed.
type Input struct {
	Result  report.Result
	Traces  map[string]*report.Trace // by the trial's name
	Stories []explain.Story
	// Dir is the run folder, to be named in commands. OnPurpose asks to be shown also
	// what was broken on purpose.
	// Alone says that nothing of the run is kept but its page, Undrawn that there is no page yet.
	Dir       string
	Undrawn   bool
	OnPurpose bool
	Alone     bool
}

// Of says what there is to say about a run.
func Of(in Input) *View {
	r := in.Result
	b := builder{Input: in, scenarios: matrix.Of(r.Trials), names: matrix.NamesOf(r.Trials), trials: inOrder(r.Trials)}
	v := &View{
		Name: r.Run.Scenario, Page: b.page(), Asked: b.asked(), Result: r.Outcome(), Scorecard: b.scorecard(), Headlines: b.headlines(), Findings: b.findings(), Tables: b.tables(), Brief: b.brief(),
		Figures: b.figures(), Suites: b.suites(), Measured: b.measurements(), Better: []string{perSecond},
		Origin: origin(r.Run), Alone: in.Alone, Run: r.Run, dir: in.Dir,
	}
	v.Verdict = b.verdict(v)
	v.Stories, v.Shown, v.More = b.stories()
	v.Sections = b.sections(v)
	return v
}

// page is where the rest is to be found, and how it is made where it is not there yet.
func (in Input) page() string {
	if in.Undrawn {
		return fmt.Sprintf("%s, which zkbench report %s draws", report.PageFile, in.Dir)
	}
	return report.PageFile
}

// builder holds what all parts of a view are made from.
type builder struct {
	Input
	scenarios []matrix.Scenario
	names     matrix.Names
	trials    []report.Trial // cell by cell, as the tables show them: see inOrder
}

// Finding is one thing that was found. Findings are ordered by kind, and of one kind by
// importance.
type Finding struct {
	Kind    Kind
	Subject string   // the trial or the series that it is about; empty where it is several, or the run
	Text    string   // a sentence; of what is broken or open, the name of what was checked
	Why     string   // it is broken or open
	Link    string   // id of what proves it on the page; empty for none
	Of      string   // the subject under test that is broken or open
	Where   string   // the trial that is broken or open: its subject with what varies, and its place
	Under   []string // the faults under which it broke
	Cell    string   // of an audit that the trial is
	More    int      // how many trials say the same; see Ranked
}

// Kind is what a finding is.
type Kind string

// The kinds of finding.
const (
	Measures Kind = "measures" // something was measured
	Doubt    Kind = "doubt"    // something about the run as a whole weakens the answer
	Note     Kind = "note"     // something else to know, that other findings or tables show too
	Broken   Kind = "broken"   // a guarantee or a threshold does not hold
	Open     Kind = "open"     // it could not be judged whether it does
)

// reasonLength is how much of a reason stands in a line.
const reasonLength = 200

// playedLength is the same where a trial was not played: what a driver said last is in it.
const playedLength = 500

// String is the finding in a line.
func (f Finding) String() string {
	if why := f.Reason(); why != "" {
		return f.Head() + ": " + why
	}
	return f.Head()
}

// Head is the finding without its reason.
func (f Finding) Head() string {
	s := units.Clean(f.Text)
	if f.Kind == Broken || f.Kind == Open {
		s += " in " + f.Subject
	}
	return s + f.more(f.More)
}

// more says how many trials say the same; nothing for none.
func (f Finding) more(n int) string {
	if n == 0 {
		return ""
	}
	return " and " + units.Plural(n, "more "+f.trial())
}

// Reason is why, in a line.
func (f Finding) Reason() string {
	if f.Text == verdict.Played {
		return units.Short(units.Reason(f.Why), playedLength)
	}
	return units.Short(units.Reason(f.Why), reasonLength)
}

// Of returns the findings of these kinds.
func (v *View) Of(kinds ...Kind) []Finding { return ofKinds(v.Findings, kinds...) }

// firstFindings is how many findings are shown before the rest is folded away.
const firstFindings = 5

// Ranked returns the findings by what matters: the first are to be shown, the rest may be
// folded. What is broken, or open, in several trials of a subject is said once.
func (v *View) Ranked() (first, rest []Finding) {
	var all []Finding
	for _, kind := range []Kind{Broken, Doubt, Open, Measures, Note} {
		for _, f := range v.Of(kind) {
			i := slices.IndexFunc(all, func(o Finding) bool { return o.Of != "" && o.Kind == kind && o.Text == f.Text && o.Of == f.Of })
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
