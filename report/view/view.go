// Package view determines the content of a report: its texts, and their order. It builds a
// [View] from a result and the data of its histories, which the renderers of package render write.
package view

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

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

type Kind string

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

func (f Finding) String() string {
	if why := f.Reason(); why != "" {
		return f.Head() + ": " + why
	}
	return f.Head()
}

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

func (f Finding) Where() string { return f.TrialName + underFaults(f.Under) }

func (f Finding) Reason() string {
	limit := reasonLength
	if f.Text == verdict.Completed {
		limit = incompleteLength
	}
	return units.Truncate(units.ShortenReason(f.Why), limit)
}

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

// Section is a part of the page with a heading. Sections are ordered by importance.
type Section struct {
	ID, Title, Intro string
	Marks            []Mark // the kinds of its bars
	Blocks           []Block
	Note             string // at the end
}

// Block is an element of a section; only one of the fields from Explanation on is set.
type Block struct {
	Fold        string // if set, the block is collapsed under this text
	Open        bool   // initially expanded
	Explanation *Explanation
	Table       *Table
	Figures     []*plot.Figure
	Timelines   []Timeline
	Facts       []Fact
	Code        string
}

const openExplanations = 3

const resultsID = "results"

func (b builder) sections(v *View) []Section {
	results := Section{ID: resultsID, Title: "Measurements", Blocks: append(tableBlocks(v.Tables...), overviewBlocks(v.Figures)...)}
	explanations := Section{ID: "explanations", Title: "Violations", Marks: ExplanationMarks, Blocks: explanationBlocks(v.Explanations),
		Intro: "Numbers in the lanes refer to the events below; events in bold prove the violation. The time axis is stretched where many events occur. A commit is shown at the earliest time at which a client can know of it."}
	conditions := Section{ID: "conditions", Title: "Conditions", Blocks: []Block{{Facts: facts(b.Result)}},
		Note: "All times are from one monotonic clock in the process that ran the clients. The latency of an operation is measured from the time at which it was due. " +
			"Notifications, requests and bytes were counted on the wire. A quantile is shown only if there are enough samples for it. An unknown result never counts as a pass."}
	first, second := explanations, results
	switch {
	case b.hasOnly(isAudit): // measurements and passed checks have no meaning for episodes
		results.Title, results.Intro = "Every step, every fault", "Each cell is a separate episode. Failed cells link to their explanation."
		return withBlocks(results, explanations, conditions, b.repeat())
	case b.hasOnly(isZoo):
		results.Title = "Detected defects"
		first, second = results, explanations
	}
	return withBlocks(b.incident(), first, second,
		Section{ID: "causes", Title: "Failovers by cause", Blocks: b.causes(),
			Note: "Release and close return the lock; in the other rows, the session must expire first, unless the holder keeps its grant. The predicted range is the range that ZooKeeper's session expiry allows. In rows with \"leader\" in the name, the leader of the ensemble is stopped, not the holder of the lock."},
		b.timelines(),
		Section{ID: "formulas", Title: "Expected notifications", Blocks: tableBlocks(b.formulas())},
		b.trialSection(v.Figures),
		Section{ID: "checks", Title: "Guarantees and thresholds", Blocks: passedFolded(b.checkTable())},
		Section{ID: "faults", Title: "Faults", Blocks: b.faults()},
		Section{ID: "metrics", Title: "All metrics", Blocks: b.metrics()},
		conditions, b.repeat())
}

func withBlocks(all ...Section) []Section {
	return slices.DeleteFunc(all, func(s Section) bool { return len(s.Blocks) == 0 })
}

func (b builder) hasOnly(kind func(matrix.Scenario) bool) bool {
	return len(b.scenarios) > 0 && !slices.ContainsFunc(b.scenarios, func(s matrix.Scenario) bool { return !kind(s) })
}

func (b builder) repeat() Section {
	run := b.Result.Run
	s := Section{ID: "repeat", Title: "How to repeat the run", Blocks: []Block{{Code: run.Command}},
		Note: "The run folder contains the histories of all trials. To evaluate them again, use zkbench check; to create the page again, use zkbench report."}
	if b.PageOnly {
		s.Note = "The histories of the trials are not published here; repeating the run records them again."
	}
	if run.Command == "" {
		s.Intro = "The command is unknown."
	}
	return s
}

func explanationBlocks(explanations []Explanation) []Block {
	var out []Block
	for i := range explanations {
		out = append(out, Block{Fold: explanations[i].Title, Open: i < openExplanations, Explanation: &explanations[i]})
	}
	return out
}

func tableBlocks(tables ...Table) (out []Block) {
	for _, t := range withRows(tables...) {
		out = append(out, Block{Table: &t})
	}
	return out
}

// passedFolded collapses the rows that passed or do not affect the result, unless there are no others.
func passedFolded(t Table) []Block {
	at := slices.IndexFunc(t.Rows, func(r Row) bool { return rank(r.Result) <= 0 })
	if at <= 0 {
		return tableBlocks(t)
	}
	rest := t
	t.Rows, rest.Rows = t.Rows[:at], t.Rows[at:]
	return []Block{{Table: &t}, {Table: &rest, Fold: fmt.Sprintf("%d more that passed or do not affect the result", len(rest.Rows))}}
}

// overviewBlocks returns the plots of the whole run, and the plots of single trials that answer
// the scenario's question. Plots for fewer than the largest number of clients are collapsed.
func overviewBlocks(figures []*plot.Figure) []Block {
	most := 0
	for _, f := range figures {
		if f.Trial == "" {
			most = max(most, f.Clients)
		}
	}
	var first, fewer Block
	fewer.Fold = "The same with fewer clients"
	answers := func(f *plot.Figure) int { return map[bool]int{true: 0, false: 1}[f.Answer] }
	figures = slices.SortedStableFunc(slices.Values(figures), func(a, b *plot.Figure) int { return answers(a) - answers(b) })
	for _, f := range figures {
		switch {
		case f.Trial != "" && !f.Answer:
		case f.Trial == "" && f.Clients > 0 && f.Clients != most:
			fewer.Figures = append(fewer.Figures, f)
		default:
			first.Figures = append(first.Figures, f)
		}
	}
	return withFigures(first, fewer)
}

const trialPlots = 4

func (b builder) trialSection(figures []*plot.Figure) Section {
	s := Section{ID: "trials", Title: "Trials over time"}
	all := byInterest(b.trials)
	for i, t := range all[:min(len(all), trialPlots)] {
		block := Block{Fold: trialLabel(t.Subject, t) + ", over time", Open: i < 2 || t.Outcome() == report.Fail}
		for _, f := range figures {
			if f.Trial == t.Name && !f.Answer {
				block.Figures = append(block.Figures, f)
			}
		}
		s.Blocks = append(s.Blocks, block)
	}
	if len(all) > trialPlots && !b.PageOnly {
		s.Note = "The plots of the other trials are in the folder " + report.PlotDir + " next to this page."
	}
	s.Blocks = withFigures(s.Blocks...)
	return s
}

func withFigures(blocks ...Block) []Block {
	return slices.DeleteFunc(blocks, func(b Block) bool { return len(b.Figures) == 0 })
}

// byInterest returns failed trials first, then unknown ones; within each group, the most clients first.
func byInterest(trials []report.Trial) []report.Trial {
	return slices.SortedStableFunc(slices.Values(trials), func(a, b report.Trial) int {
		return cmp.Or(rank(b.Outcome())-rank(a.Outcome()), b.Clients-a.Clients)
	})
}

type Fact struct{ Name, Value string }

func facts(r report.Result) []Fact {
	run := r.Run
	out := []Fact{{"run", run.ID}}
	if !run.Start.IsZero() {
		out = append(out, Fact{"started", run.Start.UTC().Format("2006-01-02 15:04:05 MST")})
	}
	if run.Elapsed > 0 {
		out = append(out, Fact{"took", units.Duration(float64(run.Elapsed))})
	}
	out = append(out, Fact{"ended", cmp.Or(run.EndReason, "when all trials were complete")}, Fact{"seed", strconv.FormatUint(run.Seed, 10)})
	e := run.Ensemble
	about := size(e)
	if len(e.Observers) > 0 {
		about += " (" + units.Clean(strings.Join(e.Observers, ", ")) + ")"
	}
	about += ", " + cmp.Or(e.Kind, "kind unknown")
	if e.About != "" {
		about += ", " + e.About
	}
	if e.Tick > 0 {
		about += ", tick " + units.Duration(float64(e.Tick))
	}
	out = append(out, Fact{"ensemble", about})
	for _, k := range sortedKeys(run.Host) {
		out = append(out, Fact{"host: " + k, run.Host[k]})
	}
	return append(out, Fact{"versions", versions(run)})
}

func origin(run report.Run) string {
	parts := []string{versions(run)}
	if !run.Start.IsZero() {
		parts = append([]string{run.Start.UTC().Format("2006-01-02 15:04 MST")}, parts...)
	}
	if cpus := run.Host["cpus"]; cpus != "" {
		parts = append(parts, units.Clean(fmt.Sprintf("%s with %s processors (%s)", run.Host["os"], cpus, run.Host["cpu"])))
	}
	return fmt.Sprintf("%s, seed %d.", strings.Join(parts, ", "), run.Seed)
}

// versions lists the versions: "zookeeper 3.8.0", and "go1.26" if the version includes the name.
func versions(run report.Run) string {
	var parts []string
	for _, k := range sortedKeys(run.Versions) {
		v := run.Versions[k]
		if !strings.HasPrefix(v, k) {
			v = k + " " + v
		}
		parts = append(parts, units.Clean(v))
	}
	return cmp.Or(strings.Join(parts, ", "), "versions unknown")
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
